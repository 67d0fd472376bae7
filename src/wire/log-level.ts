// How much an agent wants to hear of a server's log (2025-11-25 and 2026-07-28 §server/utilities/logging; RFC 5424).
import { isJsonObject } from './reply.ts';

const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;

export type LogLevel = (typeof LEVELS)[number];

export const isLogLevel = (value: unknown): value is LogLevel => LEVELS.includes(value as LogLevel);

/** Whether `level` shows all that `other` does. */
export const showsAllOf = (level: LogLevel, other: LogLevel): boolean => LEVELS.indexOf(level) <= LEVELS.indexOf(other);

const LOG = /notifications\\?\/message/;

/**
 * Whether one who wants `wanted` hears this message of a server; everything but the log is heard by all.
 * @param raw JSON text, latin1
 */
export function isHeard(raw: string, wanted: LogLevel | 'none'): boolean {
  if (!LOG.test(raw)) return true;
  let message: unknown;
  try {
    message = JSON.parse(raw);
  } catch {
    return true;
  }
  if (!isJsonObject(message) || message['method'] !== 'notifications/message') return true;
  const level = isJsonObject(message['params']) ? message['params']['level'] : undefined;
  // A level that nobody knows is not for us to judge.
  return wanted !== 'none' && (!isLogLevel(level) || showsAllOf(wanted, level));
}
