// Runs a PostgreSQL program as the user who owns the cluster, with nothing of our own environment.
import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process';
import { OwnError } from '../../shared/errors.ts';

/** Whom PostgreSQL runs as; undefined for ourselves. It refuses to run as root. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

const RUN_TIMEOUT_MS = 60_000;

// Our environment holds keys. LC_ALL is needed on macOS, where a server without one does not start.
const ENVIRONMENT = { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/local/bin:/usr/bin:/bin' };

/** Resolves when the program ends well; rejects with the end of what it said otherwise. */
export function run(account: Account | undefined, command: string, ...args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = { ...account, env: ENVIRONMENT, cwd: '/', timeout: RUN_TIMEOUT_MS };
    execFile(command, [...args], options, (error, stdout, stderr) => {
      if (error === null) resolve();
      else reject(new OwnError(`${command} failed: ${(stderr || stdout || error.message).trim().slice(-1_000)}`));
    });
  });
}

/** A session of its own, so that Ctrl-C in our terminal stops us first and the database last. */
export function spawnDetached(
  account: Account | undefined,
  command: string,
  args: readonly string[],
  stdio: SpawnOptions['stdio'],
): ChildProcess {
  return spawn(command, [...args], { ...account, env: ENVIRONMENT, cwd: '/', detached: true, stdio });
}

export async function canRun(
  account: Account | undefined,
  command: string,
  ...args: readonly string[]
): Promise<boolean> {
  return run(account, command, ...args).then(
    () => true,
    () => false,
  );
}
