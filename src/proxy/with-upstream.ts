// Credential, connection, and one more try. The only place that repeats a request, and only when it
// provably did not run: once because no byte arrived, or the session was lost, and once because the
// credential was refused and a newer one exists.
import type { CallTroubles } from '../catalog/call-troubles.ts';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Lease } from '../connection/lease.ts';
import type { Pool } from '../connection/pool.ts';
import { adminHasTo } from '../credential/admin-has-to.ts';
import type { CredentialBroker } from '../credential/broker.ts';
import type { Credential } from '../credential/credential.ts';
import { CredentialRefusedError, NotRunError, ProxyError } from '../shared/errors.ts';
import type { PrincipalId } from '../shared/id.ts';

/** The refusal, if it was one, that leaves a call without a usable credential, and the credential it met. */
export interface Refused {
  readonly error: CredentialRefusedError;
  readonly credential: Credential;
}

/** Gives the error for a call without a usable credential; a link is made only where somebody sees it. */
export type AskForCredential = (
  server: UpstreamServer,
  principalId: PrincipalId,
  refused: Refused | undefined,
  toolName: string | undefined,
) => Promise<ProxyError>;

export interface WithUpstreamDeps {
  readonly broker: CredentialBroker;
  readonly pool: Pool;
  readonly askForCredential: AskForCredential;
  /** Told how a request ended at the server, the last try of each. */
  readonly onEnd?: Pick<CallTroubles, 'worked'> & Partial<Pick<CallTroubles, 'failed'>>;
}

/**
 * Runs `use` over the connection of this principal. Errors: those of the connection; `sign_in_required`
 * when there is no credential or the one there is was refused; the signal's reason. `toolName` is the
 * tool the request is for, where it is for one.
 */
export type WithUpstream = <T>(
  server: UpstreamServer,
  principalId: PrincipalId | undefined,
  signal: AbortSignal,
  use: (lease: Lease) => Promise<T>,
  toolName?: string,
) => Promise<T>;

/** One piece of work over a connection, however often it is tried. */
interface Work<T> {
  readonly server: UpstreamServer;
  readonly signal: AbortSignal;
  readonly use: (lease: Lease) => Promise<T>;
  readonly toolName: string | undefined;
}

export function createWithUpstream({ broker, pool, askForCredential, onEnd }: WithUpstreamDeps): WithUpstream {
  const once = async <T>({ server, signal, use, toolName }: Work<T>, credential: Credential): Promise<T> => {
    let lease: Lease | undefined;
    try {
      const acquired = pool.acquire(server, credential, signal);
      lease = acquired instanceof Promise ? await acquired : acquired;
      const result = await use(lease);
      // Other work may have come to its result without a word to the server.
      if (toolName !== undefined) broker.taken(server, credential, toolName);
      onEnd?.worked(server);
      return result;
    } catch (error) {
      // Most servers say so when they are connected to, before there is a connection.
      if (error instanceof CredentialRefusedError) {
        // A session opened with a key that is no longer taken is of no use to the next call.
        if (lease !== undefined && error.missingScopes === undefined) pool.discard(lease);
        broker.refused(server, credential, error, toolName);
        // With a no, but it is there.
        onEnd?.worked(server);
      }
      throw error;
    } finally {
      if (lease !== undefined) pool.release(lease);
    }
  };

  const again = async <T>(work: Work<T>, credential: Credential): Promise<T> => {
    try {
      return await once(work, credential);
    } catch (error) {
      onEnd?.failed?.(work.server, error);
      throw error;
    }
  };

  /** What reached nobody was no try: the one more that follows a refusal is still to come. */
  const untilHeard = async <T>(work: Work<T>, credential: Credential): Promise<T> => {
    try {
      return await once(work, credential);
    } catch (error) {
      if (!work.signal.aborted && error instanceof NotRunError && error.mayRetryNow) return again(work, credential);
      onEnd?.failed?.(work.server, error);
      throw error;
    }
  };

  const ask = async (
    { server, toolName }: Pick<Work<unknown>, 'server' | 'toolName'>,
    principalId: PrincipalId | undefined,
    refused: Refused | undefined,
  ): Promise<ProxyError> => {
    // Of a key that is not taken an admin has to read; a missing scope is between the person and the server.
    if (refused?.credential.kind === 'static' && refused.error.missingScopes === undefined)
      onEnd?.failed?.(server, refused.error);
    if (principalId !== undefined) return askForCredential(server, principalId, refused, toolName);
    return adminHasTo(server, refused !== undefined);
  };

  return async <T>(
    server: UpstreamServer,
    principalId: PrincipalId | undefined,
    signal: AbortSignal,
    use: (lease: Lease) => Promise<T>,
    toolName?: string,
  ): Promise<T> => {
    const work = { server, signal, use, toolName };
    const found = broker.find(server, principalId, signal);
    const credential =
      (found instanceof Promise ? await found : found) ?? (await broker.look(server, principalId, signal));
    if (credential === undefined) throw await ask(work, principalId, undefined);
    let refusal: CredentialRefusedError;
    try {
      return await untilHeard(work, credential);
    } catch (error) {
      if (signal.aborted || !(error instanceof CredentialRefusedError)) throw error;
      refusal = error;
    }
    // A renewal brings the same scopes again (RFC 6749 §6), so there only the person can help.
    const newer =
      refusal.missingScopes === undefined ? await broker.afterRefusal(server, credential, signal) : undefined;
    if (newer === undefined) throw await ask(work, principalId, { error: refusal, credential });
    try {
      return await again(work, newer);
    } catch (error) {
      throw error instanceof CredentialRefusedError
        ? await ask(work, principalId, { error, credential: newer })
        : error;
    }
  };
}

/** For work that no agent waits for: nobody would see a link. */
export const keyNotTaken = (server: UpstreamServer): ProxyError =>
  new ProxyError(
    'sign_in_required',
    `${server.name} did not take the key of the person it was asked for; they have to sign in again.`,
  );
