import { LINE_NUMBER_WIDTH } from '../../memory/messages.ts';
import { LINES_AROUND } from '../../memory/text.ts';
import { batch, MAX_BYTES, REQUEST, UNANSWERED, WRITES } from './batch.ts';

/*
 * Edits that are done where the file is: its content stays on the server, and one statement does what takes a read and a write
 * otherwise. They know the line model of src/memory/text.ts; the tests hold both to the same answers.
 */

/** What follows a change is looked at so far, in characters, for the lines below it. */
const LOOKAHEAD = 2000;

/**
 * @param parameters of the edit, beside what each has; `reply` is its answer, or what comes before the snippet
 * @param edit how: takes the content `e.content` into `parts`, says of which `c.parts` it can make the new `content`, and of
 *   which of those rows it can make the `answer`
 */
const editFiles = (
  name: string,
  parameters: Record<string, string>,
  edit: { parts: string; canEdit: string; edited: string; canAnswer: string; answer: string },
) =>
  batch(
    name,
    {
      ...{ tenant: 'text', path: 'text', version: 'text', reply: 'text' },
      ...{ maxFileBytes: 'bigint', maxBytes: 'bigint' },
      ...parameters,
      ...REQUEST,
    },
    (calls) => `
WITH found AS MATERIALIZED (
  SELECT c.*, e.size_bytes, t.byte_count, COALESCE(t.max_bytes, c.max_bytes) AS room, ${edit.parts} AS parts
  FROM ${calls}
  JOIN tenants AS t ON t.id = c.tenant
  JOIN entries AS e ON e.tenant_id = c.tenant AND e.path = c.path
  WHERE e.kind = 'file' AND e.size_bytes BETWEEN 1 AND ${MAX_BYTES} AND ${UNANSWERED}
  FOR NO KEY UPDATE OF t, e SKIP LOCKED
), edited AS MATERIALIZED (
  SELECT c.*, ${edit.edited} FROM found AS c WHERE ${edit.canEdit}
), ready AS MATERIALIZED (
  SELECT c.item, c.tenant, c.path, c.version, c.content, c.key_hash, c.request_hash,
    octet_length(c.content) - c.size_bytes AS more, ${edit.answer} AS answer
  FROM edited AS c
  WHERE c.content <> '' AND ${edit.canAnswer} AND (octet_length(c.content) <= c.size_bytes
    OR (c.max_file_bytes = 0 OR octet_length(c.content) <= c.max_file_bytes)
      AND (c.room = 0 OR c.byte_count + octet_length(c.content) - c.size_bytes <= c.room))
), ${WRITES}
SELECT item::integer, answer FROM ready
`,
  );

const FIRST_LINE = `greatest(cardinality(c.above) - ${LINES_AROUND}, 1)`;

/** Replaces what occurs once, and shows it as `snippetOf` does. */
export const replaceInFilesStatement = editFiles(
  'replace_in_files',
  { oldStr: 'text', newStr: 'text' },
  {
    parts: 'string_to_array(e.content, c.old_str)',
    canEdit: 'cardinality(c.parts) = 2',
    edited: `c.parts[1] || c.new_str || c.parts[2] AS content, string_to_array(c.parts[1], E'\\n') AS above,
    string_to_array(left(c.parts[2], ${LOOKAHEAD}), E'\\n') AS below`,
    canAnswer: `(octet_length(c.parts[2]) <= ${LOOKAHEAD} OR cardinality(c.below) > ${LINES_AROUND + 1})`,
    answer: `c.reply || (
      SELECT string_agg(lpad((${FIRST_LINE} - 1 + l.i)::text, ${LINE_NUMBER_WIDTH}) || E'\\t' || l.line, E'\\n' ORDER BY l.i)
      FROM unnest(string_to_array(
        array_to_string(c.above[${FIRST_LINE}:], E'\\n') || c.new_str
          || array_to_string(c.below[:${LINES_AROUND + 1}], E'\\n'), E'\\n')) WITH ORDINALITY AS l (line, i)
    )`,
  },
);

/** Puts lines in after a line. */
export const insertIntoFilesStatement = editFiles(
  'insert_into_files',
  { line: 'bigint', text: 'text' },
  {
    parts: "string_to_array(e.content, E'\\n')",
    canEdit: 'c.line BETWEEN 0 AND cardinality(c.parts)',
    edited: `array_to_string(c.parts[:c.line::integer] || c.text || c.parts[c.line::integer + 1:], E'\\n') AS content`,
    canAnswer: 'true',
    answer: 'c.reply',
  },
);
