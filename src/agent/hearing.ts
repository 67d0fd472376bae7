// What of a server's log an agent hears while its request runs. One of the 2025 revisions says so for its session, and hears all
// until it has; one of 2026-07-28 says so with each request, and hears nothing where it has not.
import type { AgentHearing } from '../proxy/operations.ts';
import { META_LOG_LEVEL, metaOf } from '../wire/era.ts';
import { isHeard, isLogLevel, type LogLevel } from '../wire/log-level.ts';
import type { JsonObject } from '../wire/reply.ts';
import type { Incoming } from './message.ts';
import type { Session } from './sessions.ts';

/** Undefined where the agent said nothing. */
export function logLevelOf({ era, params }: Incoming, session: Session | undefined): LogLevel | undefined {
  if (era === 'legacy') return session?.logLevel;
  const level = metaOf(params)?.[META_LOG_LEVEL];
  return isLogLevel(level) ? level : undefined;
}

export function hearingOf(hearing: AgentHearing, { era }: Incoming, level: LogLevel | undefined): AgentHearing {
  if (era === 'legacy' && level === undefined) return hearing;
  const wanted = level ?? 'none';
  return {
    message: (raw) => {
      if (isHeard(raw, wanted)) hearing.message(raw);
    },
    flush: () => hearing.flush(),
    progress: () => hearing.progress(),
    stillHere: () => hearing.stillHere(),
  };
}

/** The params with what the agent wants to hear, for servers that are told with each request. */
export function withLogLevel({ era, params }: Incoming, level: LogLevel | undefined): JsonObject {
  if (era === 'modern' || level === undefined) return params;
  return { ...params, _meta: { ...metaOf(params), [META_LOG_LEVEL]: level } };
}
