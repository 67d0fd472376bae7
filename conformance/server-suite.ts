// What the suite finds when it judges one server by one scenario.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Check, runSuite } from './suite.ts';

/** In the order in which they were made. */
export interface Judgement {
  readonly checks: readonly Check[];
}

export async function judge(url: string, scenario: string, revision: string): Promise<Judgement> {
  const dir = await mkdtemp(join(tmpdir(), 'keybearer-conformance-'));
  try {
    const args = ['server', '--url', url, '--scenario', scenario, '--spec-version', revision, '-o', dir];
    const { stdout, output } = await runSuite(args);
    return { checks: (await checksIn(dir)) ?? [unfinished(`${stdout}${output}`)] };
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Undefined when the suite ended, or was ended, before it wrote them. */
async function checksIn(dir: string): Promise<readonly Check[] | undefined> {
  const [file] = (await readdir(dir, { recursive: true })).filter((name) => name.endsWith('checks.json'));
  const checks: unknown = file === undefined ? undefined : JSON.parse(await readFile(join(dir, file), 'utf8'));
  return Array.isArray(checks) ? checks : undefined;
}

/** A scenario that does not end must not end the others. */
const unfinished = (said: string): Check => ({
  id: 'unfinished',
  name: 'Unfinished',
  status: 'FAILURE',
  description: 'The suite comes to a result',
  errorMessage: said.slice(-1_000),
});

const isBad = ({ status }: Check): boolean => status === 'FAILURE' || status === 'WARNING';

/** The suite forgives warnings when it scores a revision. We do not. */
export const problemsIn = ({ checks }: Judgement): readonly string[] =>
  checks.filter(isBad).map(({ id, errorMessage, description }) => `${id}: ${errorMessage ?? description}`);

/** A check has no name of its own: some are made several times. */
function passedIn({ checks }: Judgement): ReadonlyMap<string, Check> {
  const passed = new Map<string, Check>();
  for (const check of checks) {
    if (check.status !== 'SUCCESS') continue;
    const name = [check.id, check.name, check.description].join(' ');
    let nth = 1;
    while (passed.has(`${name} ${nth}`)) nth++;
    passed.set(`${name} ${nth}`, check);
  }
  return passed;
}

export const countPassed = (judgement: Judgement): number => passedIn(judgement).size;

/**
 * What passed with the server itself and does not pass, or is not even reached, through the proxy. What the suite
 * only notes, as that an answer is JSON and no event stream, is a choice that the protocol leaves open.
 */
export function lostOnTheWay(alone: Judgement, through: Judgement): readonly string[] {
  const passed = passedIn(through);
  const problems = new Map(through.checks.filter(isBad).map((check) => [check.id, check]));
  const noted = new Set(through.checks.filter(({ status }) => status === 'INFO').map(({ id }) => id));
  const lost = [...passedIn(alone)].filter(([name, { id }]) => !passed.has(name) && !noted.has(id));
  return lost.map(
    ([, { id, description }]) => `${id}: ${problems.get(id)?.errorMessage ?? `not seen: ${description}`}`,
  );
}
