// Accept and Content-Type of a request, read as leniently as HTTP allows (RFC 9110 §8.3.1, §12.5.1).

export interface Accepted {
  readonly json: boolean;
  readonly events: boolean;
}

const BOTH: Accepted = { json: true, events: true };
/** As every SDK writes it; the answer is known without looking closer. */
const USUAL = 'application/json, text/event-stream';

/** A missing or empty Accept means anything. */
export function readAccept(header: string | undefined): Accepted {
  if (header === undefined || header === '' || header === USUAL) return BOTH;
  const types = header.split(',').map((part) => (part.split(';', 1)[0] ?? '').trim().toLowerCase());
  const any = types.includes('*/*');
  return {
    json: any || types.includes('application/json') || types.includes('application/*'),
    events: any || types.includes('text/event-stream') || types.includes('text/*'),
  };
}

export function isJsonType(header: string | undefined): boolean {
  if (header === 'application/json') return true;
  return (header?.split(';', 1)[0] ?? '').trim().toLowerCase() === 'application/json';
}
