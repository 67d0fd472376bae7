// The values of `Keybearer-Principal` as they came. Node joins repeated headers with a comma, which a
// principal's id may hold; only then is it worth looking at them one by one.
import type { IncomingMessage } from 'node:http';

export function principalHeaderOf(request: IncomingMessage): string | readonly string[] | undefined {
  const value = request.headers['keybearer-principal'];
  return typeof value === 'string' && value.includes(',') ? request.headersDistinct['keybearer-principal'] : value;
}
