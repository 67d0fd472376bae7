// Waits for a person to sign in, on whatever node that happens, telling the agent now and then that it
// still waits. Bounded; ends when the agent leaves.
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { CredentialBroker } from '../credential/broker.ts';
import type { Caller } from '../identity/caller.ts';
import type { ChangeFeed } from '../shared/changes.ts';
import type { Clock } from '../shared/clock.ts';
import type { WaitForSignIn } from './connect-tool.ts';
import type { Call } from './operations.ts';

export interface WaitForSignInDeps {
  readonly broker: CredentialBroker;
  readonly changes: ChangeFeed;
  readonly clock: Clock;
  readonly waitMs: number;
}

const PROGRESS_MS = 5_000;

export function createWaitForSignIn({ broker, changes, clock, waitMs }: WaitForSignInDeps): WaitForSignIn {
  return (caller, server, call, url, signal) =>
    new Promise((resolve, reject) => {
      let step = 0;
      const end = (): void => {
        unsubscribe();
        cancel();
        cancelProgress();
        signal.removeEventListener('abort', left);
      };
      const left = (): void => {
        end();
        reject(signal.reason as Error);
      };
      const check = async (): Promise<void> => {
        if (!(await hasCredential(broker, caller, server))) return;
        end();
        resolve(true);
      };
      const unsubscribe = changes.subscribe((change) => {
        const concerns =
          change.kind === 'resync' ||
          (change.kind === 'credentials' && change.tenantId === caller.tenantId && change.serverId === server.id);
        // A failed look is no answer; the next notice or the end of the wait is.
        if (concerns) check().catch(() => undefined);
      });
      const cancel = clock.after(waitMs, () => {
        end();
        resolve(false);
      });
      const cancelProgress = clock.every(PROGRESS_MS, () => reportWaiting(call, server, url, ++step));
      if (signal.aborted) left();
      else signal.addEventListener('abort', left, { once: true });
      // At once, so that the link can be shown while the call still waits.
      reportWaiting(call, server, url, ++step);
      // It may have happened between the first look and now.
      check().catch(() => undefined);
    });
}

async function hasCredential(broker: CredentialBroker, caller: Caller, server: UpstreamServer): Promise<boolean> {
  const found = await broker.find(server, caller.principalId);
  return found !== undefined && !broker.isRefused(server, found);
}

function reportWaiting(call: Call, server: UpstreamServer, url: string, step: number): void {
  if (call.progressToken === undefined) return;
  const text = JSON.stringify(`Waiting for the person to sign in to ${server.name}: ${url}`);
  call.hearing.message(
    `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${call.progressToken},"progress":${step},"message":${text}}}`,
  );
  void call.hearing.flush();
}
