// The suite's server scenarios: first with the fixture itself, then with the fixture behind Keybearer, in the
// era of the scenario's revision and in the other one.
import type { Era } from '../test/support/upstreams/revisions.ts';
import { copyOf } from './database.ts';
import { startFixture } from './fixture/fixture.ts';
import { startKeybearer } from './keybearer.ts';
import { countPassed, type Judgement, judge, lostOnTheWay, problemsIn } from './server-suite.ts';
import { startShim } from './shim.ts';
import { requiredOf, revisions } from './suite.ts';

const ERAS: readonly Era[] = ['legacy', 'modern'];
const eraOf = (revision: string): Era => (revision < '2026' ? 'legacy' : 'modern');

/** Not required, and about what a proxy has to let through, or has to do itself. */
const BEYOND: Readonly<Record<Era, readonly string[]>> = {
  legacy: ['server-session-lifecycle', 'json-schema-2020-12', 'server-sse-polling'],
  modern: ['json-schema-2020-12', 'http-header-validation', 'http-custom-header-server-validation'],
};

export interface ServerResult {
  readonly scenario: string;
  readonly revision: string;
  readonly isRequired: boolean;
  readonly alone: Judgement;
  /** By the era of the server behind Keybearer. */
  readonly through: Readonly<Record<Era, Judgement>>;
}

/** The fixture passes, and nothing of that is lost in either era. */
export const isSound = ({ alone, through }: ServerResult): boolean =>
  problemsIn(alone).length === 0 && ERAS.every((era) => lostOnTheWay(alone, through[era]).length === 0);

interface Places {
  readonly alone: Readonly<Record<Era, string>>;
  readonly through: Readonly<Record<Era, string>>;
  /** What Keybearer logged; taken out. */
  takeLines(): readonly string[];
  close(): Promise<void>;
}

export interface Wishes {
  readonly scenarios: readonly string[];
  readonly revision: string | undefined;
  readonly isLogged: boolean;
}

async function openPlaces(databaseUrl: string): Promise<Places> {
  const fixtures = await forBoth(startFixture);
  const alone = { legacy: fixtures.legacy.url, modern: fixtures.modern.url };
  const servers = { legacy: { type: 'http', url: alone.legacy }, modern: { type: 'http', url: alone.modern } };
  const keybearer = await startKeybearer(await copyOf(databaseUrl), servers);
  const shims = await forBoth((era) => startShim(`${keybearer.url}/mcp/${era}`, keybearer.agentKey));
  let taken = 0;
  return {
    alone,
    through: { legacy: shims.legacy.url, modern: shims.modern.url },
    takeLines() {
      const lines = keybearer.lines.slice(taken);
      taken = keybearer.lines.length;
      return lines;
    },
    async close() {
      await forBoth((era) => shims[era].close());
      await keybearer.stop();
      await forBoth((era) => fixtures[era].close());
    },
  };
}

const forBoth = async <T>(run: (era: Era) => Promise<T>): Promise<Record<Era, T>> => ({
  legacy: await run('legacy'),
  modern: await run('modern'),
});

export async function runServers(databaseUrl: string, wishes: Wishes): Promise<readonly ServerResult[]> {
  const places = await openPlaces(databaseUrl);
  const results: ServerResult[] = [];
  try {
    for (const { scenario, revision, isRequired } of plan(wishes)) {
      const own = eraOf(revision);
      const alone = await judge(places.alone[own], scenario, revision);
      const through = await forBoth((era) => judge(places.through[era], scenario, revision));
      const result = { scenario, revision, isRequired, alone, through };
      results.push(result);
      tell(result, wishes.isLogged ? places.takeLines() : []);
    }
  } finally {
    await places.close();
  }
  return results;
}

function plan({ scenarios, revision: wanted }: Wishes) {
  return revisions()
    .filter((revision) => wanted === undefined || wanted === revision)
    .flatMap((revision) => [
      ...requiredOf('server', revision).map((scenario) => ({ scenario, revision, isRequired: true })),
      ...BEYOND[eraOf(revision)].map((scenario) => ({ scenario, revision, isRequired: false })),
    ])
    .filter(({ scenario }) => scenarios.length === 0 || scenarios.includes(scenario));
}

function tell({ scenario, revision, alone, through }: ServerResult, lines: readonly string[]): void {
  const whole = countPassed(alone);
  const cells = ERAS.map((era) => `${era} ${whole - lostOnTheWay(alone, through[era]).length}/${whole}`);
  console.log(`${revision}  ${scenario.padEnd(46)}  alone ${whole}  through: ${cells.join('  ')}`);
  for (const problem of problemsIn(alone)) console.log(`    alone   ${problem}`);
  for (const era of ERAS)
    for (const lost of lostOnTheWay(alone, through[era])) console.log(`    ${era.padEnd(6)}  ${lost}`);
  for (const line of lines) process.stdout.write(`    | ${line}`);
}
