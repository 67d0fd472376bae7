// What Linux says about the processes of this machine, proc(5). Elsewhere nothing is found, and ending
// a command's own process group has to do.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Ticks since the machine started. With the pid it names one process and no later one of that number. */
  readonly startedAt: number;
}

/** Undefined when there is none, or only its exit code is left. */
export function readProcess(pid: number): ProcessEntry | undefined {
  const text = textOf(`/proc/${pid}/stat`);
  // The second field is a name of the program's choosing, with blanks and brackets if it likes.
  const fields = text?.slice(text.lastIndexOf(')') + 2).split(' ') ?? [];
  const [state, parent, group, session] = fields;
  const startedAt = Number(fields[19]);
  if (state === undefined || state === 'Z' || state === 'X' || !Number.isSafeInteger(startedAt)) return undefined;
  return { pid, parent: Number(parent), group: Number(group), session: Number(session), startedAt };
}

export function listPids(): readonly number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

/** The value of a variable as the process got it at its start; undefined too where we may not look. */
export async function startVariable(pid: number, name: string): Promise<string | undefined> {
  try {
    const variables = `\u0000${await readFile(`/proc/${pid}/environ`, 'latin1')}`;
    const at = variables.indexOf(`\u0000${name}=`);
    if (at < 0) return undefined;
    return variables.slice(at + name.length + 2).split('\u0000', 1)[0];
  } catch {
    return undefined;
  }
}

/** Names this start of the machine, and the container if any: pids of another mean nothing here. */
export function machineRun(): { readonly boot: string; readonly container: string } | undefined {
  const boot = textOf('/proc/sys/kernel/random/boot_id')?.trim();
  try {
    return boot === undefined ? undefined : { boot, container: readlinkSync('/proc/self/ns/pid') };
  } catch {
    return undefined;
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return undefined;
  }
}
