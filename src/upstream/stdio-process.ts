// A command in a process group of its own, and the promise that nothing of the group outlives it.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../shared/clock.ts';
import { NotRunError } from '../shared/errors.ts';

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string>>;
}

export interface ProcessEars {
  stdout(chunk: Buffer): void;
  stderr(chunk: Buffer): void;
  /** Once: it exited, or can no longer be spoken to. `how` is safe to show. */
  ended(how: string): void;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** After the end of its input, and again after SIGTERM. */
const GRACE_MS = 1_000;
const POLL_MS = 20;
/** What a process wrote before it exited is still in the pipe; somebody else may hold the pipe open. */
const LAST_WORDS_MS = 200;
const REAP_MS = 400;

/** Resolves when the command runs. Errors: NotRunError. */
export function startProcess(command: Command, ears: ProcessEars, clock: Clock): Promise<StdioProcess> {
  if ([command.command, ...command.args, command.cwd ?? ''].some((text) => text.includes('\u0000'))) {
    return Promise.reject(new NotRunError('The command of the server holds a NUL character.'));
  }
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException): void => reject(notStarted(error));
    let child: Child;
    try {
      child = spawnGroup(command);
    } catch (error) {
      failed(error as NodeJS.ErrnoException);
      return;
    }
    child.once('spawn', () => resolve(new StdioProcess(child, ears, clock)));
    child.on('error', failed);
    // Without a handler on every pipe, an EPIPE would end our own process. There are none where the
    // system had no descriptors left for them.
    const pipes: (Readable | Writable | undefined)[] = [child.stdin, child.stdout, child.stderr];
    for (const pipe of pipes) pipe?.on('error', failed);
  });
}

function spawnGroup({ command, args, cwd, env }: Command): Child {
  // A group of its own: launchers start other programs, and a signal to the group reaches them all.
  return spawn(command, args, { cwd, env, shell: false, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'command not found, or its working directory does not exist',
  EACCES: 'no permission to run it',
  ENOEXEC: 'it is no program this system can run',
  E2BIG: 'its arguments and environment are too large',
  EAGAIN: 'this system runs too many processes',
  EMFILE: 'too many files are open',
};

function notStarted(error: NodeJS.ErrnoException): NotRunError {
  const code = error.code ?? 'unknown';
  return new NotRunError(`The server's command could not be started: ${REASONS[code] ?? `error ${code}`}.`, {
    cause: error,
  });
}

export class StdioProcess {
  readonly #child: Child;
  readonly #clock: Clock;
  readonly #ears: ProcessEars;
  readonly #exited: Promise<void>;
  #hasExited = false;
  #isGroupGone = false;
  #isOver = false;
  #ending: Promise<void> | undefined;

  constructor(child: Child, ears: ProcessEars, clock: Clock) {
    this.#child = child;
    this.#clock = clock;
    this.#ears = ears;
    const drained = new Promise<void>((resolve) => child.once('close', () => resolve()));
    this.#exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.#hasExited = true;
        resolve();
        // What it left behind goes now; what it said last is heard first.
        void this.close();
        const how = code === null ? `was ended by ${signal}` : `ended with exit code ${code}`;
        void Promise.race([drained, clock.sleep(LAST_WORDS_MS)]).then(() => this.#over(how));
      });
    });
    child.stdout.on('data', (chunk: Buffer) => ears.stdout(chunk));
    child.stderr.on('data', (chunk: Buffer) => ears.stderr(chunk));
    child.stdin.on('error', () => this.#over('closed its input'));
    // As a rule it is about to exit, and then its exit code says more.
    child.stdout.on('end', () => clock.after(2 * LAST_WORDS_MS, () => this.#over('closed its output')));
  }

  /** Bytes accepted that the process has not read yet. */
  get unreadBytes(): number {
    return this.#child.stdin.writableLength;
  }

  write(text: string, done: (error?: Error | null) => void): void {
    this.#child.stdin.write(text, done);
  }

  /** End of input, SIGTERM, SIGKILL, each after a grace (2025-11-25 §basic/lifecycle, shutdown); about two seconds at most. */
  close(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  /** At once and without asking. */
  async kill(): Promise<void> {
    this.#signal('SIGKILL');
    await Promise.race([this.#exited, this.#clock.sleep(REAP_MS)]);
    this.#letGo();
  }

  #over(how: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ears.ended(how);
    void this.close();
  }

  async #end(): Promise<void> {
    this.#child.stdin.end();
    await Promise.race([this.#exited, this.#clock.sleep(GRACE_MS)]);
    this.#signal('SIGTERM');
    const deadline = this.#clock.now() + GRACE_MS;
    while (!this.#isGone() && this.#clock.now() < deadline) await this.#clock.sleep(POLL_MS);
    await this.kill();
  }

  /** The child may be gone while what it started lives on; a group has its number until its last member ends. */
  #isGone(): boolean {
    this.#signal(0);
    return this.#isGroupGone && this.#hasExited;
  }

  #signal(signal: NodeJS.Signals | 0): void {
    const { pid } = this.#child;
    // Once the group was empty its number may belong to strangers.
    if (pid === undefined || this.#isGroupGone) return;
    try {
      process.kill(-pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') this.#isGroupGone = true;
    }
  }

  /** A grandchild that left the group may hold the pipes; we do not wait for it. */
  #letGo(): void {
    this.#child.stdin.destroy();
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
  }
}
