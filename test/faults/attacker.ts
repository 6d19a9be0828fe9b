/** `attacker.ts TITLE URL SECONDS`: one attack in a process of its own, so that the client who measures does not wait for it. */
import { attacks } from './attacks.ts';

const [title, url, seconds] = process.argv.slice(2);
const attack = attacks.find((each) => each.title === title);
if (attack === undefined || url === undefined) throw new Error(`There is no attack "${title}".`);
const end = performance.now() + Number(seconds) * 1000;
const counts = await attack.run(url, () => performance.now() > end);
process.send?.(counts, () => process.exit());
