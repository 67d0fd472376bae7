// What a hostile server may list: by name, with what has to become of it.
import type { ScriptedOptions } from '../scripted-upstream.ts';
import { lines, MIB, pour } from './answer-attack.ts';
import { resultText } from './message.ts';
import { eventText, sendText, startEvents } from './responses.ts';
import { MODERN, SUBSCRIPTION_KEY } from './revisions.ts';

export interface ListAttack {
  /** Members of the page behind a cursor, as JSON text. */
  page(cursor: unknown): string;
  readonly state: 'ok' | 'unavailable';
  /** So many of its tools are offered. */
  readonly tools: number;
  /** Why it is unavailable. */
  readonly reason?: string;
  /** Says without end that its list has changed. */
  readonly isRestless?: boolean;
  /** What its tool `t0` is called with, and has to be given as it is. */
  readonly args?: Readonly<Record<string, unknown>>;
}

const tool = (name: string, schema = '{"type":"object"}', more = ''): string =>
  `{"name":${JSON.stringify(name)},"inputSchema":${schema}${more}}`;
const one = (...tools: readonly string[]): string => `"tools":[${[tool('fine'), ...tools].join(',')}]`;
const schema = (members: string): string => `{"type":"object",${members}}`;
const nested = (levels: number): string => `${'{"not":'.repeat(levels)}{}${'}'.repeat(levels)}`;
const number = (cursor: unknown): number => Number(cursor ?? 0);

/** As many tools as may be, and as many bytes. */
export const FULL = 5_000;
const FULL_BYTES = 2 * MIB - 200;
const described = (name: string, bytes: number): string =>
  tool(name, undefined, `,"description":"${'d'.repeat(bytes - tool(name, undefined, ',"description":""').length)}"`);
export const fullPage = (salt = ''): string =>
  `"tools":[${lines(FULL, (nth) => described(`t${nth}_${salt}`, Math.floor(FULL_BYTES / FULL) - 1))}]`;

/** The patterns that are known to hang most engines, on a text that makes them. */
const REDOS = ['(a+)+$', '^(a|a)*$', '^(a|aa)+$', '(.*)*x', '^([a-zA-Z0-9])(([\\\\-.]|[_]+)?([a-zA-Z0-9]+))*$'];
const SLOW_TEXT = `${'a'.repeat(20_000)}!`;
const patterns = lines(REDOS.length, (nth) => `"p${nth}":{"type":"string","pattern":"${REDOS[nth]}"}`);

export const lists = (canaryUrl: string): Readonly<Record<string, ListAttack>> => ({
  'the same cursor again and again': {
    page: () => `${one(tool('t0'))},"nextCursor":"again"`,
    state: 'ok',
    tools: 2,
  },
  'pages without end': {
    page: (cursor) => `"tools":[${tool(`t${number(cursor)}`)}],"nextCursor":"${number(cursor) + 1}"`,
    state: 'unavailable',
    tools: 0,
    reason: 'pages',
  },
  'a cursor of a megabyte': {
    page: () => `${one(tool('t0'))},"nextCursor":"${'c'.repeat(MIB)}"`,
    state: 'ok',
    tools: 2,
  },
  'an inputSchema 200,000 levels deep': {
    page: () => one(tool('t0', schema(`"properties":{"a":${nested(200_000)}}`)), tool('t1')),
    state: 'ok',
    tools: 2,
  },
  'a hundred schemas 2,000 levels deep': {
    page: () => one(...Array.from({ length: 100 }, (_, nth) => tool(`t${nth}`, schema(`"a":${nested(2_000)}`)))),
    state: 'ok',
    tools: 1,
  },
  'schemas that refer to themselves': {
    page: () =>
      one(
        tool('t0', schema('"properties":{"a":{"$ref":"#"}},"$defs":{"b":{"$ref":"#/$defs/b"}},"allOf":[{"$ref":"#"}]')),
        tool('t1', schema('"$id":"x","$dynamicAnchor":"y","properties":{"a":{"$dynamicRef":"#y"},"b":{"$ref":"x"}}')),
      ),
    state: 'ok',
    tools: 3,
    args: { a: { a: { a: {} } } },
  },
  'schemas that are to be fetched': {
    page: () =>
      one(
        tool('t0', schema(`"properties":{"a":{"$ref":"${canaryUrl}/a.json"}},"$schema":"${canaryUrl}/b.json"`)),
        tool('t1', schema(`"$id":"${canaryUrl}/c.json","$ref":"d.json"`), `,"outputSchema":{"$ref":"${canaryUrl}/e"}`),
        tool('t2', undefined, `,"icons":[{"src":"${canaryUrl}/f.png"}]`),
      ),
    state: 'ok',
    tools: 4,
    args: { a: 1 },
  },
  'patterns that take for ever': {
    page: () =>
      one(
        tool(
          't0',
          schema(
            `"properties":{${patterns}},"patternProperties":{"${REDOS[0]}":{}},"propertyNames":{"pattern":"${REDOS[1]}"}`,
          ),
          `,"outputSchema":{"type":"object","properties":{${patterns}}}`,
        ),
      ),
    state: 'ok',
    tools: 2,
    args: Object.fromEntries([...REDOS.keys()].map((nth) => [`p${nth}`, SLOW_TEXT])),
  },
  'anyOf of twenty thousand, four times': {
    page: () =>
      one(...Array.from({ length: 4 }, (_, nth) => tool(`t${nth}`, schema(`"anyOf":[${lines(21_000, () => '{}')}]`)))),
    state: 'ok',
    tools: 5,
    args: { a: 1 },
  },
  'ten thousand tools': {
    page: () => `"tools":[${lines(10_000, (nth) => tool(`t${nth}`))}]`,
    state: 'unavailable',
    tools: 0,
    reason: '5000 tools',
  },
  'as many tools as may be': { page: () => fullPage(), state: 'ok', tools: FULL },
  'more bytes than may be': {
    page: () => `"tools":[${lines(1_000, (nth) => described(`t${nth}`, 15_000))}]`,
    state: 'unavailable',
    tools: 0,
    reason: 'bytes of tools',
  },
  'names of a megabyte': {
    page: () => one(tool('n'.repeat(MIB)), tool('ü'.repeat(MIB / 4)), tool('t0')),
    state: 'ok',
    tools: 2,
  },
  'five thousand names that have to be shortened': {
    page: () => `"tools":[${lines(FULL, (nth) => tool(`${'long'.repeat(50)}${nth}`))}]`,
    state: 'ok',
    tools: FULL,
  },
  'a list that is said to change without end, and does': {
    page: () => fullPage(String(Math.random()).slice(2, 10)),
    state: 'ok',
    tools: FULL,
    isRestless: true,
  },
});

const notice = (id: unknown): string =>
  eventText(
    `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"${SUBSCRIPTION_KEY}":${JSON.stringify(id)}}}}`,
  ).repeat(400);

/** Answers for the attack that is on; a modern server. */
export const listing =
  (attack: () => ListAttack | undefined): NonNullable<ScriptedOptions['onOther']> =>
  (message, _req, res) => {
    const now = attack();
    if (now === undefined || message?.id === undefined) return false;
    const { id, method, params } = message;
    const send = (members: string): void => sendText(res, 200, resultText(id, `{"resultType":"complete",${members}}`));
    if (method === 'server/discover')
      send(`"supportedVersions":["${MODERN}"],"capabilities":{"tools":{"listChanged":${now.isRestless === true}}}`);
    else if (method === 'tools/list') send(`${now.page(params['cursor'])},"ttlMs":0,"cacheScope":"private"`);
    else if (method === 'subscriptions/listen') {
      startEvents(res);
      const acknowledged = `{"notifications":{"toolsListChanged":true},"_meta":{"${SUBSCRIPTION_KEY}":${JSON.stringify(id)}}}`;
      res.write(
        eventText(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":${acknowledged}}`),
      );
      pour(res, notice(id));
    } else return false;
    return true;
  };
