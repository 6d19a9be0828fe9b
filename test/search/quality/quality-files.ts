import { readFileSync } from 'node:fs';

/*
 * A memory with 300 files, as an assistant keeps for one person. The files in facts.txt contain the answers to the
 * questions. The others mention the same people, projects, and things.
 */

const FILES = 300;

export interface File {
  path: string;
  content: string;
}

const read = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');

/** Questions with the path of the file that contains the answer. */
export const questions = read('questions.txt')
  .trimEnd()
  .split('\n')
  .map((line) => {
    const [path = '', query = ''] = line.split('\t');
    return { path, query };
  });

const facts: File[] = read('facts.txt')
  .split(/^=== /m)
  .slice(1)
  .map((part) => {
    const end = part.indexOf('\n');
    return { path: part.slice(0, end), content: part.slice(end + 1) };
  });

const PEOPLE = [
  'Marta',
  'Joachim',
  'Priya',
  'Tomasz',
  'Beatriz',
  'Nuno',
  'Solveig',
  'Carla',
  'Inês',
  'Viktor',
];
const PROJECTS = ['Atlas', 'Borealis', 'Cicada', 'the website', 'Dragonfly', 'Ember', 'Falcon'];
const CUSTOMERS = [
  'Lumen Health',
  'Kite Air',
  'Orbit Labs',
  'Casa Verde',
  'Blue Harbor',
  'Nordvind AS',
  'Zenith Bank',
];
const THINGS = [
  'invoice export',
  'login page',
  'nightly job',
  'search index',
  'mobile build',
  'report',
  'dashboard',
];

/** Names and sentences for the files, by kind. */
const KINDS: { directory: string; name: (n: number) => string; title: string; lines: string[] }[] = [
  {
    directory: 'journal',
    name: (n) => `2026-0${1 + (n % 9)}-${String(1 + ((n * 7) % 28)).padStart(2, '0')}.md`,
    title: 'Journal',
    lines: [
      'Slept badly, too much coffee in the afternoon.',
      'Called grandma; she told the story of the radio again.',
      'Ran eight kilometers along the river, no pain.',
      'Bought tomatoes, eggs and bread at the market.',
      'The cat brought a lizard into the kitchen.',
      'Rode the bicycle to the office, forgot the lock.',
      'Practiced Portuguese verbs for half an hour.',
      'Finished a chapter of the Rust book on the train.',
      'Watered the garden late because of the heat.',
      'Paid the newspaper and the phone.',
    ],
  },
  {
    directory: 'work/meetings',
    name: (n) => `weekly-${n}.md`,
    title: 'Weekly meeting',
    lines: [
      '{person} presented the numbers of {project}; nobody objected.',
      'Budget discussion moved to next week.',
      '{project}: launch date not decided, waiting for legal.',
      'Action: {person} writes to {customer} about the contract.',
      'Deployment of {project} went through without a rollback.',
      'The flaky test in {project} is still there; {person} looks at it.',
      'Vacation plan: {person} is away for two weeks.',
      '{person} wants fewer meetings and longer documents.',
      'Certificates, backups and monitoring were mentioned, no news.',
    ],
  },
  {
    directory: 'work/customers',
    name: (n) => `call-${n}.md`,
    title: 'Call with {customer}',
    lines: [
      '{customer} asked about the {thing} and when it will be faster.',
      'They want a refund for the days without service.',
      'Contract renewal in the {n}th week; price stays.',
      'Security questions were answered by {person}.',
      'Invoice {n} was sent twice by mistake, apologized.',
      'They liked the dashboard. Contact is on parental leave.',
      'Next call with {person} on Thursday.',
    ],
  },
  {
    directory: 'projects/notes',
    name: (n) => `note-${n}.md`,
    title: 'Notes on {project}',
    lines: [
      'The {thing} is slow on large tenants; profile it.',
      'Decided to keep Postgres for {project}, no Kafka for now.',
      'Open question: who owns the {thing}?',
      '{person} refactored the {thing}, the pull request is large.',
      'The worker crashed at night; restarted by hand.',
      'Upgrade of React and the map library is planned.',
      'Key rotation was forgotten once, see the calendar.',
      'Accuracy of the model is fine, latency is not.',
      'Tests take {n} minutes on the runners.',
    ],
  },
  {
    directory: 'people/acquaintances',
    name: (n) => `contact-${n}.md`,
    title: 'Contact {n}',
    lines: [
      'Met at a conference, works with {person}.',
      'Phone +351 912 555 {n}.',
      'Birthday in May. Likes hiking and chess.',
      'Interested in {project} and in {thing}s.',
      'Moved to Kraków, formerly in Frankfurt.',
      'Prefers e-mail to calls, answers on Fridays.',
    ],
  },
  {
    directory: 'recipes/tried',
    name: (n) => `dish-${n}.md`,
    title: 'Recipe {n}',
    lines: [
      'Two onions, olive oil, a can of beans, smoked paprika.',
      'Bake at 200 °C for forty minutes, cover at first.',
      'Without hazelnuts it works, too; use almonds.',
      'Less salt than in the book, more cumin.',
      'Let the dough rest in the fridge for the night.',
      'Chicken, butter, white wine, shallots.',
      'Tastes better on the second day.',
    ],
  },
  {
    directory: 'home/log',
    name: (n) => `entry-${n}.md`,
    title: 'House',
    lines: [
      'The light upstairs flickers; changed the bulb.',
      'Router restarted after the storm, Wi-Fi works again.',
      'The radiator in the bathroom is cold, bled it.',
      'Wrote to the landlord about the cellar key.',
      'Insurance wants photos of the water stain.',
      'Planted basil and moved the lemon tree into the shade.',
      'Plumber came, {n} euros, receipt in the drawer.',
    ],
  },
  {
    directory: 'health/log',
    name: (n) => `week-${n}.md`,
    title: 'Week {n}',
    lines: [
      'Three runs, {n} km in total, knee is fine.',
      'Slept seven hours on average, one bad night.',
      'Physiotherapy on Tuesday, same exercises.',
      'Dentist called to move an appointment, not yet fixed.',
      'Vaccination card is in the blue directory.',
      'Allergy season: eyes itch, drops help.',
    ],
  },
  {
    directory: 'learning/notes',
    name: (n) => `session-${n}.md`,
    title: 'Study notes {n}',
    lines: [
      'Inverted indexes map words to documents.',
      'BM25 saturates with the term frequency.',
      'Ownership moves a value; borrowing does not.',
      'Quantizing a model makes it smaller and a bit worse.',
      'A rate limiter needs a clock and a bucket.',
      'The subjunctive after "embora" is difficult.',
      'TLS certificates are chains of signatures.',
    ],
  },
  {
    directory: 'travel',
    name: (n) => `trip-${n}.md`,
    title: 'Trip {n}',
    lines: [
      'Night train, lower berth, breakfast was included.',
      'Hotel near the station, check-in from 15:00, quiet room.',
      'Flight delayed by two hours; ask for compensation.',
      'Hand luggage only, the backpack was enough.',
      'Hiking on the second day, rain in the afternoon.',
      'Expenses: taxi 18 euros, dinner {n} euros, receipts sent.',
    ],
  },
  {
    directory: 'archive/andere',
    name: (n) => `notiz-${n}.md`,
    title: 'Notiz {n}',
    lines: [
      'Die Wohnung war kalt, die Heizung wird geprüft.',
      'Versicherung angerufen, Rückruf am Montag.',
      'Il faut rappeler le docteur pour le rendez-vous.',
      'El coche hace un ruido raro, llamar al taller.',
      'As obras da rua acabam em outubro.',
      'Comprare carote, sedano e vino per domenica.',
      '会議は来週の火曜日です。資料を準備する。',
      '老师说下周考试,记得复习。',
      'Купить насос и лампу для кухни.',
      '내일 오후 세 시에 회의가 있다.',
    ],
  },
];

/** Generates the same numbers in each run (generator from Numerical Recipes). */
function* randomNumbers(): Generator<number> {
  for (let state = 42; ; ) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 2 ** 32;
  }
}

function createOthers(count: number): File[] {
  const random = randomNumbers();
  const randomBelow = (n: number) => Math.floor((random.next().value ?? 0) * n);
  const pickAny = (list: readonly string[]) => list[randomBelow(list.length)] ?? '';
  const fillTemplate = (text: string, n: number) =>
    text
      .replace('{person}', pickAny(PEOPLE))
      .replace('{project}', pickAny(PROJECTS))
      .replace('{customer}', pickAny(CUSTOMERS))
      .replace('{thing}', pickAny(THINGS))
      .replace('{n}', String(100 + n));
  return Array.from({ length: count }, (_, i) => {
    const { directory, name, title, lines } = KINDS[i % KINDS.length] as (typeof KINDS)[number];
    const n = Math.floor(i / KINDS.length);
    const chosen = lines.filter(() => randomBelow(3) > 0).map((line) => fillTemplate(line, randomBelow(800)));
    const content = `# ${fillTemplate(title, n)}\n${chosen.map((line) => `- ${line}`).join('\n')}\n`;
    return { path: `/memories/${directory}/${name(n)}`, content };
  });
}

export const files: File[] = [...facts, ...createOthers(FILES - facts.length)];
