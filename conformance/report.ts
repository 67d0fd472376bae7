// Writes docs/conformance.md: what was run and how it ended. Nothing in it changes from one run to the next
// unless a result does.
import { EXTRAS, NOT_BUILT } from './scenarios.ts';
import { type Outcome, type Run, SUITE, SUITE_VERSION } from './suite.ts';

export interface Result {
  readonly run: Run;
  readonly outcome: Outcome;
}

export function report(revisions: readonly string[], results: readonly Result[]): string {
  const required = results.filter(({ run }) => run.extra === undefined);
  const scenarios = [...new Set(required.map(({ run }) => run.scenario))];
  const rows = scenarios.map((scenario) => [
    `\`${scenario}\``,
    ...revisions.map((revision) => {
      const result = required.find(({ run }) => run.scenario === scenario && run.revision === revision);
      return result === undefined ? 'not required' : cell(result.outcome);
    }),
  ]);
  const extras = results.flatMap(({ run, outcome }) => {
    const extra = EXTRAS.find(({ name }) => name === run.extra);
    return extra === undefined ? [] : [[`\`${run.scenario}\``, run.revision, extra.shows, cell(outcome)]];
  });
  const passed = required.filter(({ outcome }) => outcome.isPassed).length;
  return `# Conformance

Written by \`npm run conformance\`; do not edit. The first run downloads the suite and the newer Node that it wants into
\`node_modules/.cache\`. \`npm run conformance -- auth/iss-supported\` runs one scenario.

The sign-in scenarios that [the MCP conformance suite](https://www.npmjs.com/package/${SUITE}) (\`${SUITE_VERSION}\`) requires of a client, run
through Keybearer: the suite's server stands behind it, an agent calls in front, and a person's browser opens the link, sends the
confirmation page and is sent on to the suite's authorization server. A scenario has passed when each of its checks did, warnings too, and, where the
sign-in is meant to succeed, when the agent's call came through in the end. The number is how many different checks passed.

**${passed} of ${required.length} required scenarios passed.**

${table(['scenario', ...revisions], rows)}
Revisions up to 2025-11-25 are spoken with the suite's server and by the agent in the older era, 2026-07-28 in the newer.
\`auth/basic-cimd\` expects a client id of its own choice, \`https://conformance-test.local/client-metadata.json\`; it is
written into the server's definition as \`oauth.clientId\`.

## Beyond what is required

${table(['scenario', 'revision', 'shows', 'result'], extras)}
## Not run

Extensions and an older revision, which nothing above requires.

${table(
  ['scenario', 'why'],
  Object.entries(NOT_BUILT).map(([scenario, why]) => [`\`${scenario}\``, why]),
)}`;
}

function cell({ isPassed, checks, problems }: Outcome): string {
  return isPassed ? `passed (${checks})` : `**failed**: ${problems.join('; ').replaceAll('|', '\\|')}`;
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}
