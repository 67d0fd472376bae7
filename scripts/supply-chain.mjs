// What the product is made of: the lock file holds, every licence is one of those we may hand on, a bill of materials
// (CycloneDX) lies in artifacts/, and nothing in it is known to be unsafe. Needs no network but for the last, which is
// skipped with a warning where no registry can be asked. `--no-audit` leaves it out.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { audit } from './supply-chain/audit.mjs';
import { productBill } from './supply-chain/bill.mjs';
import { licencesIn, licencesPage, problemsOfLicences } from './supply-chain/licences.mjs';
import { nameOf, problemsOfLock } from './supply-chain/lock.mjs';

process.chdir(new URL('..', import.meta.url).pathname);
const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));
const manifest = readJson('package.json');
const lock = readJson('package-lock.json');
mkdirSync('artifacts', { recursive: true });

function checkLock() {
  return {
    problems: problemsOfLock(manifest, lock),
    told: `${Object.keys(lock.packages).length - 1} packages`,
  };
}

function checkLicences() {
  const packages = licencesIn(lock, nameOf);
  const installedOf = (place) => (existsSync(`${place}/package.json`) ? readJson(`${place}/package.json`) : undefined);
  writeFileSync('artifacts/licences.md', licencesPage(packages));
  return {
    problems: problemsOfLicences(packages, installedOf),
    told: `${packages.length} packages, artifacts/licences.md`,
  };
}

function writeBill() {
  const args = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'];
  const run = spawnSync('npm', args, { encoding: 'utf8', maxBuffer: 100_000_000 });
  if (run.status !== 0) return { problems: [`npm sbom failed: ${run.stderr.trim()}`], told: '' };
  const packages = licencesIn(lock, nameOf);
  const { missing, bill } = productBill(JSON.parse(run.stdout), packages, manifest.name);
  if (missing.length > 0) return { problems: missing.map((one) => `${one} is not in the bill`), told: '' };
  writeFileSync('artifacts/sbom.cdx.json', `${JSON.stringify(bill, null, 2)}\n`);
  return { problems: [], told: `${bill.components.length} components, artifacts/sbom.cdx.json` };
}

async function checkAdvisories() {
  const { kind, lines } = await audit({ cwd: process.cwd(), registry: process.env.SUPPLY_CHAIN_REGISTRY });
  if (kind === 'unreachable')
    return { problems: [], told: `SKIPPED, warning: nobody could be asked (${lines.join('; ')})` };
  if (kind === 'clean')
    return { problems: [], told: lines.length === 0 ? 'nothing known' : `nothing grave: ${lines.join('; ')}` };
  return { problems: lines, told: '' };
}

const steps = [
  ['lock', checkLock],
  ['licences', checkLicences],
  ['bill', writeBill],
  ...(process.argv.includes('--no-audit') ? [] : [['advisories', checkAdvisories]]),
];
for (const [name, step] of steps) {
  const { problems, told } = await step();
  console.log(`${name.padEnd(10)} ${problems.length === 0 ? `ok  ${told}` : 'FAILED'}`);
  for (const problem of problems) console.log(`  ${problem}`);
  if (problems.length > 0) process.exitCode = 1;
}
