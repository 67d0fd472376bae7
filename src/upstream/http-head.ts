// The few headers of an answer that matter, read from the bytes that undici gives.
import type { Echo } from './echo.ts';

export interface Head {
  /** Media type without parameters, lower case; '' when there was none. */
  readonly contentType: string;
  readonly encoding: string;
  readonly length: string | undefined;
  readonly sessionId: string | undefined;
  readonly challenge: string | undefined;
  readonly retryAfter: string | undefined;
  readonly location: string | undefined;
}

/** Of the headers only these two are ever told to anybody: one in an error, one to a sign-in. */
export function withoutEcho(head: Head, echo: Echo | undefined): Head {
  if (echo === undefined || (head.challenge === undefined && isUsual(head.contentType))) return head;
  const { challenge } = head;
  return {
    ...head,
    contentType: echo.text(head.contentType),
    challenge: challenge === undefined ? undefined : echo.text(challenge),
  };
}

const isUsual = (contentType: string): boolean =>
  contentType === 'application/json' || contentType === 'text/event-stream';

const WANTED: readonly (readonly [name: string, field: keyof Head])[] = [
  ['content-type', 'contentType'],
  ['content-encoding', 'encoding'],
  ['content-length', 'length'],
  ['mcp-session-id', 'sessionId'],
  ['www-authenticate', 'challenge'],
  ['retry-after', 'retryAfter'],
  ['location', 'location'],
];
/** By the length of the name: most headers are not wanted, and say so by it. */
const BY_LENGTH = WANTED.reduce<(typeof WANTED)[number][][]>((lists, wanted) => {
  (lists[wanted[0].length] ??= []).push(wanted);
  return lists;
}, []);

const NONE: typeof WANTED = [];

function fieldNamed(name: Buffer): keyof Head | undefined {
  for (const [wanted, field] of BY_LENGTH[name.length] ?? NONE) if (isNamed(name, wanted)) return field;
  return undefined;
}

/** Byte by byte, for a text of each name would cost more than all else here. */
function isNamed(name: Buffer, wanted: string): boolean {
  for (let at = 0; at < wanted.length; at++) if (((name[at] as number) | LOWER) !== wanted.charCodeAt(at)) return false;
  return true;
}

/** Makes letters small and leaves the dash; what else it changes is in no name (RFC 9110 §5.1). */
const LOWER = 0x20;

/** Reads the few headers that matter; a repeated challenge is joined as HTTP says (RFC 9110 §5.3). */
export function readHead(raw: readonly Buffer[]): Head {
  const head: { -readonly [K in keyof Head]: Head[K] } = {
    contentType: '',
    encoding: '',
    length: undefined,
    sessionId: undefined,
    challenge: undefined,
    retryAfter: undefined,
    location: undefined,
  };
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const field = fieldNamed(raw[i] as Buffer);
    if (field === undefined) continue;
    const value = (raw[i + 1] as Buffer).toString('latin1');
    head[field] = field === 'challenge' && head.challenge !== undefined ? `${head.challenge}, ${value}` : value;
  }
  const cut = head.contentType.indexOf(';');
  head.contentType = (cut < 0 ? head.contentType : head.contentType.slice(0, cut)).trim().toLowerCase();
  head.encoding = head.encoding.trim().toLowerCase();
  return head;
}
