// Lists with tools that no client should choke on; the good tool echo stands among them.
import type { FaultEntry } from './fault.ts';
import { resultText } from './message.ts';
import { echoTool, listResult } from './plain-answer.ts';
import { sendText } from './responses.ts';

const tool = (name: string, schemaJson = '{"type":"object"}', rest = ''): string =>
  `{"name":${JSON.stringify(name)},"inputSchema":${schemaJson}${rest}}`;

/** Written as text: deeper than a recursive writer would care to go. */
const deepSchema = (depth: number): string => `${'{"not":'.repeat(depth)}{}${'}'.repeat(depth)}`;

/** JSON text of each tool. */
export const POISON = {
  schemaTrue: tool('schema_true', 'true'),
  schemaMissing: '{"name":"schema_missing"}',
  arrayOutput: tool('array_output', '{"type":"object"}', ',"outputSchema":{"type":"array","items":{"type":"string"}}'),
  deepSchema: tool('deep_schema', deepSchema(5_000)),
  remoteRef: tool('remote_ref', '{"type":"object"}', ',"outputSchema":{"$ref":"http://127.0.0.1:9/schema.json"}'),
  blanks: tool('has two blanks'),
  unicode: tool('größe_漢字'),
  long: tool('l'.repeat(200)),
  duplicate: tool('echo', '{"type":"object","title":"the second echo"}'),
  connect: tool('connect'),
  private: tool('_private'),
  meta: tool('__meta'),
  trailing: tool('a__'),
  empty: tool(''),
  nameless: '{"inputSchema":{"type":"object"}}',
  numberName: '{"name":7,"inputSchema":{"type":"object"}}',
  notAnObject: '"tool"',
  nothing: 'null',
} as const;

export type PoisonName = keyof typeof POISON;

export const poisonedTools: FaultEntry = {
  on: 'tools/list',
  fault: ({ res, id, state }) => {
    const names = state.options.poison ?? (Object.keys(POISON) as PoisonName[]);
    sendText(res, 200, resultText(id, listResult(state, [echoTool, ...names.map((name) => POISON[name])])));
  },
};
