// Limits are a promise to those who plan: the page names each with its value, and the code says the same.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

interface Row {
  readonly what: string;
  readonly limit: string;
  readonly name: string;
  readonly file: string;
}

const ROW = /^\| (?<what>[^|]+) \| (?<limit>[^|]+) \| `(?<name>\w+)` \| `(?<file>src\/[\w./-]+\.ts)` \|$/gm;
const page = read('docs/reference/limits.md');
const rows = [...page.matchAll(ROW)].map(({ groups }) => ({ ...groups }) as unknown as Row);

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  ms: 1,
  s: 1_000,
  min: 60_000,
  h: 3_600_000,
  KiB: 1_024,
  MiB: 1_048_576,
};

function inNumbers(limit: string): number {
  const [, amount, unit = ''] = /^(\d+)(?: (\w+))?$/.exec(limit) ?? [];
  return Number(amount) * (UNITS[unit] ?? Number.NaN);
}

/** What the code says: products of whole numbers, which is all that limits are made of. */
function inCode(text: string): number {
  return text.split('*').reduce((product, factor) => product * Number(factor.trim().replaceAll('_', '')), 1);
}

const NUMBER = String.raw`(\d[\d_]*(?: \* \d[\d_]*)*)(?=[;,\s})])`;

/** Constants that are limits by their name: units, and words for most and longest. */
const LIMIT_NAME = /^(?:MAX_|LONGEST_|PER_)\w+$|_(?:MS|BYTES|TOOLS|LENGTH|LIMIT)$/;

/** Not for those who plan: how often something inside looks, how it is cut up, how long a helper process may take. */
const INSIDE: readonly (string | RegExp)[] = [
  /^src\/store\/embedded\//,
  /^src\/store\/(?:listening|change-feed)\.ts (?:CONNECT|PROBE|CLOSE|FIRST|LONGEST)/,
  'src/store/database.ts CLOSE_TIMEOUT_MS',
  'src/store/tickets.ts DAY_MS',
  'src/admin/admit.ts MAX_HEADER_LENGTH',
  'src/agent/read-body.ts SHORT_BYTES',
  'src/agent/responder.ts ONE_WRITE_BYTES',
  'src/agent/server.ts SWEEP_MS',
  'src/agent/sessions.ts SWEEP_MS',
  'src/upstream/egress/tenant-doors.ts SWEEP_MS',
  'src/catalog/near-miss.ts LONGEST',
  'src/catalog/upstream-server.ts LONGEST_REASON',
  'src/catalog/tool.ts MAX_LISTED_BYTES',
  'src/consent/connect.ts SAME_CLICK_MS',
  'src/consent/tries.ts MEMORY_MS',
  'src/consent/try-key.ts MAX_REASON',
  /^src\/credential\/(?:local-keys|sealed-box|sealed-form)\.ts \w+_BYTES$/,
  'src/identity/jwt-claims.ts MAX_SECONDS',
  'src/identity/token-memory.ts RESYNC_GRACE_MS',
  'src/identity/token-memory.ts MAX_TENANT_DROPS',
  'src/limits/strangers.ts QUIET_MS',
  'src/proxy/watch-lists.ts LOOK_MS',
  'src/upstream/echo.ts SOUGHT_LENGTH',
  'src/proxy/call-tool.ts LARGE_BYTES',
  'src/proxy/discover-tools.ts MESSAGE_BYTES',
  /^src\/result\/(?:limit-size|shape)\.ts (?:KIND|MESSAGE|CODE)_BYTES$/,
  'src/result/limit-size.ts LONGEST_TYPE',
  'src/result/limit-size.ts MAX_RUNS',
  'src/shared/breathe.ts PIECE_BYTES',
  'src/upstream/http-modern.ts CODE_BYTES',
  'src/upstream/line-reader.ts HEAD_BYTES',
  'src/upstream/line-reader.ts TAIL_BYTES',
  /^src\/upstream\/stdio-process\.ts (?:POLL|LAST_WORDS|REAP)_MS$/,
  'src/upstream/stderr-log.ts MAX_LINE_BYTES',
  'src/upstream/stderr-log.ts OVERHEAD_BYTES',
  /^src\/upstream\/stdio-(?:census|leftovers|turns)\.ts /,
  'src/upstream/stdio-backoff.ts MAX_REMEMBERED',
  'src/upstream/stdio-dial.ts MAX_PER_TENANT',
  'src/upstream/stdio-link.ts MAX_ENVELOPE_BYTES',
  'src/upstream/stdio-watchdog.ts MAX_RESTARTS',
  'src/shared/cause-words.ts MAX_CAUSES',
  'src/shared/logger.ts MAX_CAUSES',
  'src/wire/needles.ts LONGEST_STEP',
  'src/wire/needles.ts SHORT_BYTES',
  'src/wire/param-headers.ts MAX_DEPTH',
  /^src\/wire\/byte-pile\.ts \w+_BYTES$/,
  'src/wire/find-text.ts LARGE_BYTES',
  'src/wire/json-bytes.ts LONGEST_ESCAPE',
  'src/wire/scan.ts WALKED_BYTES',
];

const isInside = (place: string): boolean =>
  INSIDE.some((one) => (typeof one === 'string' ? one === place : one.test(place)));

describe('the limits', () => {
  it('are on the page, every line of its tables understood', () => {
    expect(rows.length).toBeGreaterThan(90);
    const lines = page.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| what |'));
    expect(rows).toHaveLength(lines.length);
  });

  it.each(rows)('$name in $file is $limit', ({ limit, name, file }) => {
    const found = new RegExp(String.raw`\b${name}(?: =|:) ${NUMBER}`).exec(read(file));
    expect(found, `${name} is not in ${file}`).not.toBeNull();
    expect(inNumbers(limit)).toBe(inCode(found?.[1] ?? ''));
  });

  it('are all on the page: nothing in the code is bounded that nobody can read of', () => {
    const files = readdirSync(new URL('src', root), { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.ts'),
    );
    const found = files.flatMap((file) =>
      [...read(`src/${file}`).matchAll(new RegExp(String.raw`^(?:export )?const ([A-Z][A-Z_\d]+) = ${NUMBER}`, 'gm'))]
        .map(([, name = '']) => ({ name, file: `src/${file}` }))
        .filter(({ name, file: path }) => LIMIT_NAME.test(name) && !isInside(`${path} ${name}`)),
    );
    const told = new Set(rows.map(({ name, file }) => `${file} ${name}`));
    expect(found.length).toBeGreaterThan(60);
    expect(found.map(({ name, file }) => `${file} ${name}`).filter((place) => !told.has(place))).toEqual([]);
  });
});
