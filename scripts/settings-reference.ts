/* docs/settings.md and .env.example, from the declarations in src/core/variables.ts. */
import { snakeCase } from '../src/core/lib/text-forms.ts';
import { formatBytes, type Unit } from '../src/core/lib/units.ts';
import { ALL_SETTINGS, type Setting } from '../src/core/tenants/settings.ts';
import { MAX_TIMER_MS } from '../src/core/variable-schemas.ts';
import { describeVariables, type VariableDescription } from '../src/core/variables.ts';

const TENANT_SETTINGS = new Map<string, [field: string, setting: Setting]>(
  ALL_SETTINGS.map(([name, setting]) => [setting.variable, [snakeCase(name), setting]]),
);

/**
 * Returns docs/settings.md with a new reference for each section. The text around the references is written by hand.
 *
 * @throws Error if the page lacks a section's markers
 */
export function settingsPage(page: string): string {
  return describeVariables().reduce((text, [section, variables]) => {
    const [start, end] = [`<!-- npm run generate: ${section} -->\n`, `\n<!-- end: ${section} -->`];
    const [from, to] = [text.indexOf(start), text.indexOf(end)];
    if (from < 0 || to < from) throw new Error(`docs/settings.md has no markers for ${section}.`);
    const reference = variables.map(settingReference).join('\n\n');
    return `${text.slice(0, from + start.length)}\n${reference}\n${text.slice(to)}`;
  }, page);
}

function settingReference(variable: VariableDescription): string {
  const { name, effect, more, example, computed } = variable;
  const [field, setting] = TENANT_SETTINGS.get(name) ?? [];
  const value = defaultValue(variable);
  const facts = [
    `**Type**: ${type(variable)}`,
    `**Default**: ${value === undefined ? (computed ?? 'none') : code(value)}`,
    `**Values**: ${values(variable, setting)}`,
    `**Example**: ${code(assignment(name, example))}`,
  ];
  if (field !== undefined) {
    const option = `--${field.replaceAll('_', '-')}`;
    facts.push(
      `**For one tenant**: ${code(`tenants set acme ${option} ${example}`)}, or the field ${code(field)}`,
    );
  }
  const list = facts.map((fact) => `- ${fact}`).join('\n');
  return `### ${name}\n\n${effect}${more === undefined ? '' : ` ${more}`}\n\n${list}`;
}

const code = (text: string) => `\`${text}\``;

/** Returns a line for a `.env` file. */
function assignment(name: string, value: string): string {
  return `${name}=${value.includes('\n') ? JSON.stringify(value) : value}`;
}

const TYPES: Partial<Record<Unit, string>> = {
  bytes: 'size',
  days: 'duration in days',
  hours: 'duration in hours',
  seconds: 'duration in seconds',
  milliseconds: 'duration in milliseconds',
  things: 'number',
};

function type({ choices, quantity }: VariableDescription): string {
  if (choices !== undefined) return choices.join() === 'true,false' ? 'boolean' : 'choice';
  if (quantity === undefined) return 'text';
  return TYPES[quantity.unit] ?? `number of ${quantity.unit}`;
}

function values({ choices, quantity, form, ...variable }: VariableDescription, setting?: Setting): string {
  if (choices !== undefined) return choices.map(code).join(', ');
  if (quantity === undefined) return form ?? '';
  const { unit, min, max } = quantity;
  const zero = setting && 'zero' in setting ? setting.zero : variable.zero;
  const from = code(quantityText(min, unit)) + (min === 0 ? ` (${zero})` : '');
  if (max === Number.MAX_SAFE_INTEGER) return `${from} or more`;
  return `${from} to ${code(max === MAX_TIMER_MS ? '24d' : quantityText(max, unit))}`;
}

/** Returns the default as the variable takes it. Undefined if it depends on other variables. */
function defaultValue({ default: value, quantity }: VariableDescription): string | undefined {
  if (value === undefined || value === '') return undefined;
  return typeof value === 'number' && quantity ? quantityText(value, quantity.unit) : String(value);
}

const SUFFIXES: Partial<Record<Unit, string>> = { days: 'd', hours: 'h', seconds: 's', milliseconds: 'ms' };

/** Formats a number as a variable takes it: `10MB`, `30d`, `5s`. */
function quantityText(value: number, unit: Unit): string {
  if (value === 0) return '0';
  if (unit === 'bytes') return formatBytes(value).replace(' ', '');
  if (unit === 'milliseconds' && value % 1000 === 0) return `${value / 1000}s`;
  return `${value}${SUFFIXES[unit] ?? ''}`;
}

const ENV_HEAD = `# Settings for \`npm start\`, \`npm run dev\`, and \`docker compose up\`.
# Copy this file to .env, which git ignores, and uncomment the lines that you need.
# A line has its setting's default. If the comment above ends with "Default: …", the line has an example.
# docs/settings.md has the accepted values. \`npm run generate\` writes this file.`;

const ENV_COMPOSE = `# == Docker Compose ==

# Port on this machine. With Compose, the service does not use PORT.
#MEMORY_PORT=8080

# Password of the Postgres that Compose starts.
#POSTGRES_PASSWORD=memory`;

/** Returns .env.example: each variable, commented out, below its effect. */
export function envExample(): string {
  const sections = describeVariables().map(([section, variables]) => {
    const lines = variables.map((variable) => {
      const { name, effect, example, computed = 'none' } = variable;
      const value = defaultValue(variable);
      const absent = value === undefined ? ` Default: ${computed}.` : '';
      return `# ${`${effect}${absent}`.replaceAll('`', '')}\n#${assignment(name, value ?? example)}`;
    });
    return [`# == ${section} ==`, ...lines].join('\n\n');
  });
  return `${[ENV_HEAD, ...sections, ENV_COMPOSE].join('\n\n')}\n`;
}
