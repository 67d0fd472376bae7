// Asks the registry whether anything that is installed with the product is known to be unsafe, and tells an answer
// from none: where nobody can be asked, that is a warning; an answer that makes no sense is not a clean one.
import { spawn } from 'node:child_process';

const GRAVE = ['high', 'critical'];
const TIMEOUT_S = 60;

/** What npm says when nobody answered, or when whoever did is no registry that can be asked this. */
const NOBODY =
  /\b(?:ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|ENOAUDIT|socket hang up|network)\b/i;

/** `registry` is for tests; without it npm asks the one that it is set up with. */
export async function audit({ registry, cwd }) {
  const args = [
    'audit',
    '--omit=dev',
    '--json',
    '--fetch-retries=1',
    '--fetch-retry-mintimeout=1000',
    '--fetch-timeout=20000',
  ];
  const run = await npm([...args, ...(registry === undefined ? [] : [`--registry=${registry}`])], cwd);
  return verdictOf(run);
}

/** `{ kind: 'clean' | 'grave' | 'unreachable' | 'nonsense', lines }` */
export function verdictOf({ out, err }) {
  const report = parsed(out);
  const found = report?.metadata?.vulnerabilities;
  const isReport =
    typeof report?.vulnerabilities === 'object' && report.vulnerabilities !== null && Number.isInteger(found?.total);
  if (isReport) {
    const all = Object.values(report.vulnerabilities);
    const grave = all.filter(({ severity }) => GRAVE.includes(severity));
    const lines = all.map(({ name, severity, via }) => `${severity}: ${name}${toldIn(via)}`);
    // Counted twice, so that a report in a new form is not taken for an empty one.
    const isSound = all.length === found.total && grave.length === found.high + found.critical;
    if (!isSound) return { kind: 'nonsense', lines: ['the report does not add up'] };
    return { kind: grave.length > 0 ? 'grave' : 'clean', lines };
  }
  const said = [report?.message, report?.error?.code, report?.error?.summary, err]
    .filter((text) => typeof text === 'string')
    .join(' ');
  const status = report?.statusCode;
  // A mirror that takes no such question, or one that is out of order.
  if ((typeof status === 'number' && status >= 400) || NOBODY.test(said))
    return {
      kind: 'unreachable',
      lines: [firstLine(typeof status === 'number' ? `the registry answered ${status}` : said)],
    };
  return { kind: 'nonsense', lines: [firstLine(said) || 'npm said nothing'] };
}

function toldIn(via) {
  const advisory = (Array.isArray(via) ? via : []).find((one) => typeof one === 'object' && one !== null);
  return advisory === undefined ? '' : ` (${advisory.title} ${advisory.url})`;
}

function parsed(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Without addresses: they are those of the machine it runs on. */
const firstLine = (text) =>
  text
    .trim()
    .split('\n')[0]
    .replaceAll(/\bhttps?:\/\/\S+/g, 'the registry')
    .slice(0, 200);

function npm(args, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn('npm', args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], timeout: TIMEOUT_S * 1000 });
    let [out, err] = ['', ''];
    child.stdout.on('data', (chunk) => (out += String(chunk)));
    child.stderr.on('data', (chunk) => (err += String(chunk)));
    child.on('error', reject);
    child.on('close', (_, signal) => resolve({ out, err: signal === null ? err : `${err} ETIMEDOUT` }));
  });
}
