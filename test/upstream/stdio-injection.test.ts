// T24: whatever is given as a command's variable or its value, the child that is really started has that one variable
// with just that value, or is not started; and no refusal repeats it.
import { inspect } from 'node:util';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { parseSecretValue } from '../../src/credential/secret-value.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { ProxyError } from '../../src/shared/errors.ts';
import { createStdioDial } from '../../src/upstream/stdio-dial.ts';
import { FILE, parse } from '../catalog/read-definition.ts';
import { aLog, call, client, credentialOf, fixture, never, textOf } from '../support/stdio/a-stdio-server.ts';
import { within } from '../support/within.ts';

const CANARY = 'CANARY-7d31';
/** Each is one process; as many run at a time. */
const CHILDREN = 30;
const AT_A_TIME = 3;

const piece = fc.oneof(
  fc.constantFrom('', 'a', '=', '"', '$(id)', '`id`', ';', '${IFS}', '%PATH%', '\\', '\t', ' x '),
  fc.constantFrom(
    '\n',
    '\r\nLD_PRELOAD=x',
    '\u0000',
    '\u0000LD_PRELOAD=x',
    '\u200b',
    '\ud800',
    '\u00fc',
    '\u6f22',
    '\u{1f511}',
  ),
  fc.string({ unit: 'binary', maxLength: 5 }),
);
const value = fc.tuple(piece, piece).map(([before, after]) => `${before}${CANARY}${after}`);
const GOOD_NAMES = ['API_KEY', 'X', 'GITHUB_TOKEN', 'A'.repeat(64)] as const;
const BAD_NAMES = [
  'PATH',
  'NODE_OPTIONS',
  'LD_PRELOAD',
  'A=B',
  'A\u0000B',
  'a',
  'HTTPS_PROXY',
  '',
  'CHILD_OF_KEYBEARER',
];

const log = aLog();
const dial = createStdioDial({
  clock: systemClock,
  logger: log.logger,
  client,
  parentEnv: { PATH: process.env['PATH'] },
});
const closers: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closers) await close();
});

/** What became of it: the words of the refusal, or what the child has. */
type Outcome =
  | { readonly kind: 'refused'; readonly words: string }
  | { readonly kind: 'started'; readonly names: readonly string[]; readonly value: string };

async function start(principal: string, variable: string, text: string): Promise<Outcome> {
  const definition = {
    command: process.execPath,
    args: [fixture('server.mjs')],
    credential: { kind: 'secret', env: variable },
  };
  const read = parse(definition, FILE);
  if (!read.ok) return { kind: 'refused', words: inspect(read.problems) };
  try {
    const secret = parseSecretValue(text, 'env', '').reveal();
    const connection = await within(dial(read.server, credentialOf(principal, secret), never()), 'the child', 20_000);
    closers.push(() => connection.close());
    const env = JSON.parse(textOf(await call(connection, 'env'))) as Readonly<Record<string, string>>;
    const backwards = textOf(await call(connection, 'sdrawkcab', { name: variable }));
    return { kind: 'started', names: Object.keys(env).sort(), value: [...backwards].reverse().join('') };
  } catch (error) {
    if (!(error instanceof ProxyError)) throw error;
    return { kind: 'refused', words: inspect(error, { depth: 9 }) };
  }
}

it('one variable with one value reaches the child, or nothing is started', async () => {
  const odd = fc.sample(fc.tuple(fc.constantFrom(...GOOD_NAMES), value), CHILDREN);
  const trials = [...odd, ...BAD_NAMES.map((name): [string, string] => [name, CANARY])];
  const counted = { started: 0, refused: 0 };
  const run = async (): Promise<void> => {
    for (let next = trials.pop(); next !== undefined; next = trials.pop()) {
      const [variable, text] = next;
      const outcome = await start(`person-${trials.length}`, variable, text);
      counted[outcome.kind] += 1;
      if (outcome.kind === 'refused') expect(outcome.words, JSON.stringify(next)).not.toContain(CANARY);
      else {
        expect(BAD_NAMES).not.toContain(variable);
        expect(outcome.names, JSON.stringify(next)).toEqual(['CHILD_OF_KEYBEARER', 'PATH', variable].sort());
        expect(outcome.value, JSON.stringify(next)).toBe(text.trim());
      }
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, run));
  expect(log.text()).not.toContain(CANARY);
  expect(counted.started).toBeGreaterThan(2);
  expect(counted.refused).toBeGreaterThan(2);
}, 60_000);
