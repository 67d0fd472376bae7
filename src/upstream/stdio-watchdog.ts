// Keeps one small program beside the proxy while commands run. It ends them if the proxy is killed and
// cannot do so itself: the end of a command's input is no order that a command has to obey.
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Logger } from '../shared/logger.ts';

const PROGRAM = fileURLToPath(new URL('./stdio-watchdog.mjs', import.meta.url));
/** Of a program that ends again and again there is no use; what it watched is still in the record. */
const MAX_RESTARTS = 20;

export interface Watched {
  readonly group: number;
  readonly startedAt: number;
}

/** Starts the program: `live` beside its proxy, `left` for what a proxy of before left behind. */
export function startWatchdog(run: string, mode: 'live' | 'left'): ChildProcess {
  const program = spawn(process.execPath, [PROGRAM, run, mode], {
    // Nothing of ours: neither secrets, nor the folder, nor the terminal that a Ctrl-C comes from.
    env: {},
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  program.stdin?.on('error', () => undefined);
  program.unref();
  (program.stdin as Socket | null)?.unref();
  return program;
}

export const watchLine = ({ group, startedAt }: Watched): string => `+ ${group} ${startedAt}\n`;

export class Watchdog {
  readonly #run: string;
  readonly #logger: Logger;
  readonly #watched = new Map<number, Watched>();
  #program: ChildProcess | undefined;
  /** Commands that run or are about to. */
  #holds = 0;
  #restarts = 0;

  constructor(run: string, logger: Logger) {
    this.#run = run;
    this.#logger = logger;
  }

  /** Each needs one `letGo`. The program hears of what is written before it is ready. */
  hold(): void {
    this.#holds += 1;
    this.#program ??= this.#start();
  }

  /** Without anybody left to watch the program ends. */
  letGo(): void {
    this.#holds -= 1;
    if (this.#holds > 0) return;
    this.#program?.stdin?.end('q\n');
    this.#program = undefined;
    this.#restarts = 0;
  }

  watch(one: Watched): void {
    this.#watched.set(one.group, one);
    this.#program?.stdin?.write(watchLine(one));
  }

  forget(group: number): void {
    if (this.#watched.delete(group)) this.#program?.stdin?.write(`- ${group}\n`);
  }

  #start(): ChildProcess {
    const program = startWatchdog(this.#run, 'live');
    let isOver = false;
    const over = (error?: Error): void => {
      if (isOver || this.#program !== program) return;
      isOver = true;
      this.#program = undefined;
      this.#again(error);
    };
    program.once('error', over);
    program.once('exit', () => over());
    for (const one of this.#watched.values()) program.stdin?.write(watchLine(one));
    return program;
  }

  #again(error: Error | undefined): void {
    this.#restarts += 1;
    const willRestart = this.#holds > 0 && this.#restarts <= MAX_RESTARTS && error === undefined;
    this.#logger.warn(
      { willRestart, reason: (error as NodeJS.ErrnoException | undefined)?.code },
      'the program that ends commands if this one is killed has ended itself',
    );
    if (willRestart) this.#program = this.#start();
  }
}
