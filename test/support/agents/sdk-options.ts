// Both SDK lines take the same options for a call, and are asked the same way.
import type { JsonObject } from '../upstreams/message.ts';
import type { CallOptions, Progress } from './agent.ts';

export const sdkOptions = ({
  onProgress,
  signal,
}: CallOptions): { onprogress?: (progress: Progress) => void; signal?: AbortSignal } => ({
  ...(onProgress === undefined ? {} : { onprogress: onProgress }),
  ...(signal === undefined ? {} : { signal }),
});

export type Reaction = 'accept' | 'decline' | 'cancel';

export interface SdkWishes {
  /** What the person makes of a link. With it the client says that it can show links. */
  readonly onLink?: (params: JsonObject) => Promise<Reaction>;
  /** Called for each `notifications/elicitation/complete`. */
  readonly onLinkDone?: (elicitationId: string) => void;
}

export const sdkCapabilities = ({ onLink }: SdkWishes) => ({
  capabilities: onLink === undefined ? {} : { elicitation: { url: {} } },
});
