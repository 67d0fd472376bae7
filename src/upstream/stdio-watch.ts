// Everything that has to be known of running commands so that none of them outlives its connection or
// the proxy: a mark for each, the watchdog, the record on disk, and the count of all processes.
import type { Clock } from '../shared/clock.ts';
import { randomId } from '../shared/id.ts';
import type { Logger } from '../shared/logger.ts';
import { Census } from './stdio-census.ts';
import { Family } from './stdio-family.ts';
import { readProcess } from './stdio-proc.ts';
import { CommandRecord } from './stdio-record.ts';
import { Watchdog } from './stdio-watchdog.ts';

export interface CommandWatch {
  /** Before a command is started. The mark belongs into its environment; `over` is called once, whatever comes of it. */
  begin(): Promise<{ readonly mark: string; began(pid: number): Family; over(): Promise<void> }>;
}

/** @param dataDir where the record is kept; without one there is none */
export function createCommandWatch(clock: Clock, logger: Logger, dataDir?: string): CommandWatch {
  const run = randomId(12);
  const census = new Census(clock);
  const watchdog = new Watchdog(run, logger);
  const record = dataDir === undefined ? undefined : new CommandRecord(dataDir, run, logger);
  let count = 0;
  return {
    async begin() {
      const mark = `${run}.${++count}`;
      let group: number | undefined;
      watchdog.hold();
      await record?.hold();
      return {
        mark,
        began(pid) {
          group = pid;
          const startedAt = readProcess(pid)?.startedAt ?? 0;
          watchdog.watch({ group, startedAt });
          record?.watch({ group, startedAt });
          return new Family(mark, pid, census);
        },
        async over() {
          if (group !== undefined) {
            watchdog.forget(group);
            record?.forget(group);
          }
          watchdog.letGo();
          await record?.letGo();
        },
      };
    },
  };
}
