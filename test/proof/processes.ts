// Who runs below a process, as Linux tells it.
import { readdir, readFile } from 'node:fs/promises';

export interface Running {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

async function find(pid: number): Promise<Running | undefined> {
  try {
    const [stat, command] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8'),
      readFile(`/proc/${pid}/cmdline`, 'utf8'),
    ]);
    // The name before the last parenthesis may have anything in it.
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie has ended; only its parent has not looked.
    if (state === 'Z' || state === 'X') return undefined;
    return { pid, parent: Number(parent), command: command.split('\0').join(' ').trim() };
  } catch {
    return undefined;
  }
}

/** All that were started by this one or by those it started; it is not among them. */
export async function descendantsOf(pid: number): Promise<readonly Running[]> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const all = (await Promise.all(names.map((name) => find(Number(name))))).filter((one) => one !== undefined);
  const below = (parent: number): readonly Running[] =>
    all.filter((one) => one.parent === parent).flatMap((one) => [one, ...below(one.pid)]);
  return below(pid);
}

/** Those of them that still run; a pid that is in use again is somebody else. */
export async function stillRunning(processes: readonly Running[]): Promise<readonly Running[]> {
  const now = await Promise.all(processes.map(({ pid }) => find(pid)));
  return processes.filter(({ command }, nth) => now[nth]?.command === command);
}
