// How a server stands, as an operator and an agent may see it.

export type ServerState = 'ok' | 'cached' | 'sign_in_required' | 'unavailable' | 'invalid' | 'disabled' | 'pending';

/** What went wrong last, for admins. */
export interface LastError {
  /** As agents may hear it. */
  readonly sentence: string;
  /** The same with the class of the cause where that is known; never an address. */
  readonly text: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** What is said of each server where something is listed, by its name. */
export function serversMeta(
  standings: readonly {
    readonly name: string;
    readonly state: ServerState;
    readonly reason: string | undefined;
  }[],
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    standings.map(({ name, state, reason }) => [name, reason === undefined ? { state } : { state, reason }]),
  );
}

export interface ServerStatus {
  readonly state: ServerState;
  /** One sentence, for admins. */
  readonly reason: string | undefined;
  readonly toolCount: number;
  /** As this node knows it; it stays when the server answers again, until its definition changes. */
  readonly lastError: LastError | undefined;
}

/** For admins: the newest of what went wrong, which also says more of the reason where it is the reason. */
export function inFull(
  state: ServerState,
  reason: string | undefined,
  errors: readonly LastError[],
): Pick<ServerStatus, 'state' | 'reason' | 'lastError'> {
  const because = errors.find(({ sentence }) => sentence === reason);
  return { state, reason: because?.text ?? reason, lastError: [...errors].sort((a, b) => b.at - a.at)[0] };
}
