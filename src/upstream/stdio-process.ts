// A command in a process group of its own, and the promise that nothing that came of it outlives it.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../shared/clock.ts';
import { NotRunError } from '../shared/errors.ts';
import type { Family } from './stdio-family.ts';
import type { Turns } from './stdio-turns.ts';

export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly runAs?: RunAs | undefined;
}

export interface RunAs {
  readonly uid: number;
  readonly gid: number;
}

export interface ProcessEars {
  /** Both give back what they leave for their next turn. */
  stdout(chunk: Buffer): Buffer | undefined;
  stderr(chunk: Buffer): Buffer | undefined;
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
/** What forks faster than it is found is found again. */
const KILL_ROUNDS = 10;

export interface ProcessDeps {
  readonly clock: Clock;
  readonly turns: Turns;
  /** Called with the pid as soon as there is one. */
  readonly began: (pid: number) => Family;
  /** Once, when all that came of the command is gone. */
  readonly gone: () => void;
}

/** Resolves when the command runs. Errors: NotRunError; then `gone` is not called. */
export function startProcess(command: Command, ears: ProcessEars, deps: ProcessDeps): Promise<StdioProcess> {
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
    const { pid } = child;
    if (pid !== undefined) {
      const started = new StdioProcess(child, ears, deps, deps.began(pid));
      child.once('spawn', () => resolve(started));
    }
    child.on('error', failed);
    // Without a handler on every pipe, an EPIPE would end our own process. There are none where the
    // system had no descriptors left for them.
    const pipes: (Readable | Writable | undefined)[] = [child.stdin, child.stdout, child.stderr];
    for (const pipe of pipes) pipe?.on('error', failed);
  });
}

function spawnGroup({ command, args, cwd, env, runAs }: Command): Child {
  return spawn(command, args, {
    cwd,
    env,
    shell: false,
    // A group of its own: launchers start other programs, and a signal to the group reaches them all.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    // The further groups of our user are dropped with it.
    ...runAs,
  });
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'command not found, or its working directory does not exist',
  EACCES: 'no permission to run it',
  EPERM: 'no permission to run it as another user; see KEYBEARER_COMMAND_USER',
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
  readonly #turns: Turns;
  readonly #ears: ProcessEars;
  readonly #family: Family;
  readonly #gone: () => void;
  readonly #exited: Promise<void>;
  #hasExited = false;
  #isGroupGone = false;
  #isOver = false;
  #ending: Promise<void> | undefined;

  constructor(child: Child, ears: ProcessEars, { clock, turns, gone }: ProcessDeps, family: Family) {
    this.#child = child;
    this.#clock = clock;
    this.#turns = turns;
    this.#ears = ears;
    this.#family = family;
    this.#gone = gone;
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
    this.#listen(child.stdout, (chunk) => ears.stdout(chunk));
    this.#listen(child.stderr, (chunk) => ears.stderr(chunk));
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

  /** End of input, SIGTERM, SIGKILL, each after a grace (2025-11-25 §basic/lifecycle, shutdown); about three seconds at most. */
  close(): Promise<void> {
    this.#ending ??= this.#end().finally(this.#gone);
    return this.#ending;
  }

  /** At once and without asking. */
  async kill(): Promise<void> {
    if (this.#ending === undefined) this.#ending = this.#killAll().finally(this.#gone);
    else await this.#killAll();
    await this.#ending;
  }

  /** While we are behind with one stream, its process has to wait to write on. */
  #listen(stream: Readable, hear: (chunk: Buffer) => Buffer | undefined): void {
    stream.on('data', (chunk: Buffer) => {
      let left: Buffer | undefined = chunk;
      this.#turns.give(() => {
        if (left !== undefined) left = hear(left);
        if (left === undefined && stream.isPaused()) stream.resume();
        return left !== undefined;
      });
      if (left !== undefined) stream.pause();
    });
  }

  #over(how: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ears.ended(how);
    void this.close();
  }

  async #end(): Promise<void> {
    // Before it ends, while what it started still has it for a parent.
    if (!this.#hasExited) await this.#find();
    this.#child.stdin.end();
    await Promise.race([this.#exited, this.#clock.sleep(GRACE_MS)]);
    this.#signal('SIGTERM');
    await this.#find();
    this.#family.signal('SIGTERM');
    const deadline = this.#clock.now() + GRACE_MS;
    while (this.#isAnyLeft() && this.#clock.now() < deadline) await this.#clock.sleep(POLL_MS);
    await this.#killAll();
  }

  async #killAll(): Promise<void> {
    for (let round = 0; round < KILL_ROUNDS; round += 1) {
      this.#signal('SIGKILL');
      if (round === 0) await Promise.race([this.#exited, this.#clock.sleep(REAP_MS)]);
      await this.#find();
      if (this.#family.signal('SIGKILL') === 0) break;
      await this.#clock.sleep(POLL_MS);
    }
    this.#letGo();
  }

  #find(): Promise<void> {
    this.#signal(0);
    return this.#family.find(!this.#hasExited || !this.#isGroupGone);
  }

  /** The child may be gone while what it started lives on; a group has its number until its last member ends. */
  #isAnyLeft(): boolean {
    this.#signal(0);
    return !this.#hasExited || this.#family.signal(0) > 0 || (this.#family.isBlind && !this.#isGroupGone);
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

  /** Somebody who got away may hold the pipes; we do not wait for it. */
  #letGo(): void {
    this.#child.stdin.destroy();
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
  }
}
