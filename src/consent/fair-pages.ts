// Pages are shown to anybody, so each network gets so many of them.
import type { RequestHandler } from 'express';
import type { ClientAddress } from '../limits/client-address.ts';
import type { Strangers } from '../limits/strangers.ts';
import { send } from './express.ts';
import { toRefusal } from './refusal.ts';
import { siteOf } from './site.ts';

export interface FairPagesDeps {
  readonly strangers: Pick<Strangers, 'countPage'>;
  readonly clients: Pick<ClientAddress, 'of'>;
  readonly publicUrl: () => string;
}

/** What counts by itself, and what browsers keep. */
const NOT_A_PAGE: ReadonlySet<string> = new Set(['/connect/handoff', '/connect.css']);

export function fairPages({ strangers, clients, publicUrl }: FairPagesDeps): RequestHandler {
  return (request, response, next) => {
    try {
      if (!NOT_A_PAGE.has(request.originalUrl.replace(/\?.*$/s, ''))) strangers.countPage(clients.of(request));
    } catch (error) {
      send(response, siteOf(publicUrl()), toRefusal(error));
      return;
    }
    next();
  };
}
