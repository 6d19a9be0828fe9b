import './playground.css';
import { useState } from 'preact/hooks';
import type { Tenant } from '../../api/api-types.ts';
import { noteChange } from '../../api/change-signals.ts';
import { type CommandResult, runCommand } from '../../api/memory-api.ts';
import { canWrite } from '../../api/session-state.ts';
import { revealHidden } from '../../text/visible.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Badge } from '../../ui/inline.tsx';
import { Segmented } from '../../ui/segmented.tsx';
import { ErrorText } from '../../ui/status-messages.tsx';
import { useAction } from '../../ui/use-load.ts';
import { KeySnippets } from '../keys/key-snippets.tsx';
import type { MemoryInput } from '../keys/snippets.ts';

/** Each command's fields, in its schema's order, with their first values. An empty field is omitted. */
const COMMANDS = {
  view: { path: '/memories', view_range: '' },
  create: { path: '/memories/hello.md', file_text: 'Hello\n' },
  str_replace: { path: '/memories/hello.md', old_str: 'Hello', new_str: 'Hello, world' },
  insert: { path: '/memories/hello.md', insert_line: '1', insert_text: 'A second line\n' },
  delete: { path: '/memories/hello.md' },
  rename: { old_path: '/memories/hello.md', new_path: '/memories/notes/hello.md' },
};
type Command = keyof typeof COMMANDS;

const NAMES = Object.keys(COMMANDS) as Command[];
/** Fields for long texts, which may be empty. */
const TEXTS = new Set(['file_text', 'old_str', 'new_str', 'insert_text']);

/** Runs a memory command as an agent would, and shows the result and the request. */
export function PlaygroundPage({ tenant: { id: tenant } }: { tenant: Tenant }) {
  const [command, setCommand] = useState<Command>('view');
  const [fields, setFields] = useState<Record<Command, Record<string, string>>>(COMMANDS);
  const [result, setResult] = useState<CommandResult | null>(null);
  const action = useAction();
  const input = toInput(command, fields[command]);
  const run = () =>
    action.run(async () => {
      setResult(await runCommand(tenant, input));
      if (command !== 'view') noteChange();
    });
  return (
    <div class="playground">
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          if (!action.isRunning) void run();
        }}
      >
        <h2>Run a command</h2>
        <p class="muted small">
          As an agent with a key that reads and writes. The history records a write as yours.
        </p>
        <Segmented
          label="Command"
          options={NAMES.map((name) => [name, name] as const)}
          value={command}
          onChange={(name) => {
            setCommand(name);
            setResult(null);
          }}
        />
        {Object.entries(fields[command]).map(([name, value]) => (
          <Field
            key={`${command}.${name}`}
            name={name}
            value={value}
            onChange={(text) => setFields({ ...fields, [command]: { ...fields[command], [name]: text } })}
          />
        ))}
        <ErrorText message={action.error} />
        <div class="buttons">
          <button type="submit" class="primary" disabled={!canWrite.value || action.isRunning}>
            Run
          </button>
        </div>
        {result !== null && <Result result={result} />}
      </form>
      <section class="card" aria-labelledby="request">
        <h2 id="request">The agent's request</h2>
        <KeySnippets apiKey={{ kind: 'tenant', tenant }} secret="THE_KEY" input={input} isRequest />
      </section>
    </div>
  );
}

interface FieldProps {
  name: string;
  value: string;
  onChange: (text: string) => void;
}

function Field({ name, value, onChange }: FieldProps) {
  const shared = { class: 'code', value, spellcheck: false };
  if (TEXTS.has(name)) {
    return (
      <label>
        {name}
        <textarea {...shared} rows={3} onInput={(event) => onChange(event.currentTarget.value)} />
      </label>
    );
  }
  return (
    <label>
      {name}
      <input
        {...shared}
        placeholder={name === 'view_range' ? 'All lines, or for example 1, 20' : ''}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
}

/** Shows a result exactly, with invisible characters as codes. */
function Result({ result: { content, is_error: isError } }: { result: CommandResult }) {
  return (
    <section class="playground-result" aria-label="Result" aria-live="polite">
      <div class="controls spread">
        <h3>
          <Badge kind={isError ? 'bad' : 'good'}>
            {isError ? 'Error for the model' : 'Result for the model'}
          </Badge>
        </h3>
        <CopyButton text={content} what="the result" />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and without the focus the keyboard cannot scroll it. */}
      <pre class="code snippet" tabIndex={0}>
        {revealHidden(content)}
      </pre>
    </section>
  );
}

/** Returns the tool's input. A number that is not one stays a text, so that the service explains it. */
function toInput(command: Command, fields: Record<string, string>): MemoryInput {
  const values = Object.entries(fields).flatMap(([name, text]): [string, MemoryInput[string]][] => {
    if (TEXTS.has(name)) return [[name, text]];
    if (text.trim() === '') return [];
    if (name === 'insert_line') return [[name, toNumber(text) ?? text]];
    if (name !== 'view_range') return [[name, text]];
    const range = text.split(',').map((each) => toNumber(each));
    return [[name, range.every((each) => each !== undefined) ? range : text]];
  });
  return { command, ...Object.fromEntries(values) };
}

const toNumber = (text: string) => (/^\s*-?\d+\s*$/.test(text) ? Number(text) : undefined);
