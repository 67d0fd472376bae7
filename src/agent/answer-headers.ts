// What every answer on the MCP routes carries. Constants, because each call pays for them: JSON is never taken
// for a page, and nobody on the way keeps it.

const UNKEPT = ['x-content-type-options', 'nosniff', 'cache-control', 'no-store'] as const;

export const JSON_HEADERS = ['content-type', 'application/json', ...UNKEPT] as const;

export const STREAM_HEADERS = [
  'content-type',
  'text/event-stream',
  'x-content-type-options',
  'nosniff',
  'cache-control',
  'no-store, no-transform',
  'x-accel-buffering',
  'no',
] as const;

export const EMPTY_HEADERS: readonly string[] = UNKEPT;
