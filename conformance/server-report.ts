// Writes docs/conformance-servers.md: what passes with the fixture alone, and what of that through Keybearer.
// Nothing in it changes from one run to the next unless a result does.
import { table } from './report.ts';
import type { ServerResult } from './server-run.ts';
import { countPassed, type Judgement, lostOnTheWay, problemsIn } from './server-suite.ts';
import { SUITE, SUITE_VERSION } from './suite.ts';

const NO_ERROR = 'the older era has no such error; its server answers with an error of the tool';
const NO_KEY = 'the suite wants the key that the server gave its question, and in the older era questions have none';

/** What no translation can carry from a server of the older era to a client of the newer one. */
const NOT_ACROSS: Readonly<Record<string, string>> = {
  'sep-2575-server-rejects-undeclared-capability': NO_ERROR,
  'sep-2575-missing-capability-http-400': NO_ERROR,
  'sep-2322-elicitation-incomplete': NO_KEY,
  'sep-2322-elicitation-complete': NO_KEY,
  'sep-2322-ignore-unexpected-params': NO_KEY,
};

export function serverReport(revisions: readonly string[], results: readonly ServerResult[]): string {
  const required = results.filter(({ isRequired }) => isRequired);
  return `# Conformance of what is behind Keybearer

Written by \`npm run conformance -- --servers\`; do not edit. \`npm run conformance -- --servers tools-list\` runs one scenario.

[The MCP conformance suite](https://www.npmjs.com/package/${SUITE}) (\`${SUITE_VERSION}\`) plays the client and judges a server. Here it
judges \`conformance/fixture\`, once alone and once through Keybearer at \`/mcp/{name}\`: whatever passes alone has to pass through Keybearer too. The fixture
speaks one era, 2025-11-25 or 2026-07-28; behind Keybearer the suite meets both, so in one column Keybearer relays and in the other it translates.
A number counts the checks that passed; warnings are no passes. One of them is that each message is well formed, so 1 of 2 is an error said in the right form.
Scenarios that are not required are about things a proxy has to let through or do itself.

${revisions.map((revision) => `* ${revision}: ${summary(required.filter((result) => result.revision === revision))}`).join('\n')}

${revisions.map((revision) => section(revision, results)).join('\n')}`;
}

function summary(results: readonly ServerResult[]): string {
  const whole = (judgements: readonly (readonly [Judgement, Judgement])[]): number =>
    judgements.filter(([alone, through]) => lostOnTheWay(alone, through).length === 0).length;
  const alone = results.filter((result) => problemsIn(result.alone).length === 0).length;
  const legacy = whole(results.map((result) => [result.alone, result.through.legacy]));
  const modern = whole(results.map((result) => [result.alone, result.through.modern]));
  return `of ${results.length} required scenarios the fixture passes ${alone} alone; nothing is lost through Keybearer in **${legacy}** with the older server behind it, in **${modern}** with the newer one.`;
}

function section(revision: string, all: readonly ServerResult[]): string {
  const results = all.filter((result) => result.revision === revision);
  const rows = results.map(({ scenario, isRequired, alone, through }) => [
    `${code(scenario)}${isRequired ? '' : ' (not required)'}`,
    String(countPassed(alone)),
    cell(alone, through.legacy),
    cell(alone, through.modern),
  ]);
  const failed = results.flatMap(({ scenario, alone, through }) => [
    ...rowsOf(scenario, 'the fixture itself', idsOf(problemsIn(alone))),
    ...lostRows(scenario, idsOf(lostOnTheWay(alone, through.legacy)), idsOf(lostOnTheWay(alone, through.modern))),
  ]);
  const missing =
    failed.length === 0
      ? ''
      : `\nWhat fails:\n\n${table(['scenario', 'server', 'checks', 'why it cannot pass'], failed)}`;
  return `## The suite as a client of ${revision}

${table(['scenario', 'fixture alone', 'through, older server', 'through, newer server'], rows)}${missing}`;
}

function cell(alone: Judgement, through: Judgement): string {
  const lost = lostOnTheWay(alone, through).length;
  const whole = countPassed(alone);
  return lost === 0 ? String(whole) : `**${whole - lost} of ${whole}**`;
}

type Rows = readonly (readonly string[])[];

/** Only the names of the checks: what they say besides has ports and ids in it. */
const idsOf = (problems: readonly string[]): readonly string[] => [
  ...new Set(problems.map((problem) => problem.slice(0, problem.indexOf(': ')))),
];

function lostRows(scenario: string, older: readonly string[], newer: readonly string[]): Rows {
  const cannot = older.filter((id) => id in NOT_ACROSS);
  const could = older.filter((id) => !(id in NOT_ACROSS));
  const both = could.filter((id) => newer.includes(id));
  const notBoth = (ids: readonly string[]): readonly string[] => ids.filter((id) => !both.includes(id));
  return [
    ...rowsOf(scenario, 'both', both),
    ...rowsOf(scenario, 'older', notBoth(could)),
    ...rowsOf(scenario, 'older', cannot, [...new Set(cannot.map((id) => NOT_ACROSS[id]))].join('; ')),
    ...rowsOf(scenario, 'newer', notBoth(newer)),
  ];
}

const rowsOf = (scenario: string, server: string, ids: readonly string[], why = ''): Rows =>
  ids.length === 0 ? [] : [[code(scenario), server, ids.map(code).join(', '), why]];

const code = (text: string): string => `\`${text}\``;
