// Both SDK lines take the same options for a call.
import type { CallOptions, Progress } from './agent.ts';

export const sdkOptions = ({
  onProgress,
  signal,
}: CallOptions): { onprogress?: (progress: Progress) => void; signal?: AbortSignal } => ({
  ...(onProgress === undefined ? {} : { onprogress: onProgress }),
  ...(signal === undefined ? {} : { signal }),
});
