// At the start: what commands of a proxy that was killed left behind is ended. Only what is ours beyond
// doubt: it carries that proxy's mark, or its group's first process has the very start on record.
import { once } from 'node:events';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../shared/clock.ts';
import { describeError, type Logger } from '../shared/logger.ts';
import { machineRun, readProcess } from './stdio-proc.ts';
import { recordsIn } from './stdio-record.ts';
import { startWatchdog } from './stdio-watchdog.ts';

const MAX_RECORDS = 100;
/** The records of another container that shares the data directory tell us nothing; this old, they help nobody. */
const FOREIGN_FOR_MS = 7 * 24 * 3_600_000;
/** The program that does it takes four seconds at most. */
const SWEEP_MS = 10_000;

/** Resolves when all is gone; never rejects. */
export async function endLeftovers(dataDir: string, clock: Clock, logger: Logger): Promise<void> {
  const folder = recordsIn(dataDir);
  const names = await readdir(folder).catch(() => []);
  for (const name of names.slice(0, MAX_RECORDS)) {
    try {
      await judge(join(folder, name), name, clock, logger);
    } catch (error) {
      logger.warn({ record: name, error: describeError(error) }, 'what a killed proxy left behind could not be ended');
    }
  }
}

async function judge(path: string, name: string, clock: Clock, logger: Logger): Promise<void> {
  const machine = machineRun();
  if (machine === undefined || !/^[\w-]{16}(?:\.new)?$/.test(name)) return;
  const ageMs = clock.now() - (await stat(path)).mtimeMs;
  const [own = '', ...lines] = (await readFile(path, 'latin1')).split('\n');
  const [, boot, container, pid, startedAt] = /^(\S+) (\S+) (\d{1,10}) (\d{1,15})$/.exec(own) ?? [];
  if (boot === undefined || name.endsWith('.new')) {
    // Nothing can be told from what was written by halves; somebody may be writing it now.
    if (ageMs < SWEEP_MS) return;
  } else if (boot === machine.boot && container !== machine.container) {
    if (ageMs < FOREIGN_FOR_MS) return;
  } else if (boot === machine.boot) {
    // Another proxy that shares the data directory, and lives.
    if (readProcess(Number(pid))?.startedAt === Number(startedAt)) return;
    await end(name, lines, clock);
    logger.info({ groups: lines.filter(isGroup).length }, 'ended what commands of a killed proxy left behind');
  }
  await rm(path, { force: true });
}

async function end(run: string, lines: readonly string[], clock: Clock): Promise<void> {
  const program = startWatchdog(run, 'left');
  const over = Promise.race([once(program, 'exit'), clock.sleep(SWEEP_MS)]);
  program.stdin?.end(`${lines.filter(isGroup).join('\n')}\n`);
  await over;
}

/** A last line that was cut off is none. */
const isGroup = (line: string): boolean => /^\+ \d{1,10} \d{1,15}$/.test(line);
