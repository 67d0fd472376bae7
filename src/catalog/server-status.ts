// How a server stands, as an operator and an agent may see it.

export type ServerState = 'ok' | 'cached' | 'sign_in_required' | 'unavailable' | 'invalid' | 'disabled' | 'pending';

export interface ServerStatus {
  readonly state: ServerState;
  /** One sentence, safe to show to agents. */
  readonly reason: string | undefined;
  readonly toolCount: number;
}
