// The routes of everything that a person sees in a browser, and the one that a product's server calls.
import express, { type RequestHandler, Router } from 'express';
import type { BrowserSessionStore } from '../identity/browser-session-store.ts';
import type { Answer, BrowserRequest } from './answer.ts';
import { type CallbackDeps, createCallbackPages } from './callback.ts';
import { createConnectPages } from './connect.ts';
import { type ConnectKeyDeps, createConnectKey } from './connect-key.ts';
import { type ConnectOAuthDeps, createConnectOAuth } from './connect-oauth.ts';
import { lastWord, refuseForeign, send, toBrowserRequest } from './express.ts';
import { type FairPagesDeps, fairPages } from './fair-pages.ts';
import { type HandoffRouteDeps, handoffRoute } from './handoff-route.ts';
import { createOverviewPages, type OverviewDeps } from './overview.ts';
import { createPeople } from './people.ts';
import { createProve } from './prove.ts';
import { finishHandoff } from './prove-handoff.ts';
import { finishOidc, type ProveOidcDeps } from './prove-oidc.ts';
import { siteOf } from './site.ts';
import { STYLESHEET } from './stylesheet.ts';
import { createFindVisit, type VisitDeps } from './visit.ts';

/** What is made here and handed round. */
type Made = 'people' | 'prove' | 'findVisit' | 'flows';

export type ConsentDeps = Omit<VisitDeps & ConnectKeyDeps & OverviewDeps & ProveOidcDeps, Made> &
  Pick<ConnectOAuthDeps & CallbackDeps, 'flows'> &
  FairPagesDeps &
  Pick<HandoffRouteDeps, 'strangers'> & {
    readonly sessions: BrowserSessionStore;
    readonly publicUrl: () => string;
  };

const FORM_BYTES = 16 * 1024;
const readForm = express.urlencoded({ extended: false, limit: FORM_BYTES, parameterLimit: 10 });
const readJson = express.json({ limit: FORM_BYTES });

/** Mounted at `/`; answers nothing but /connect…, /connections and /oauth/callback/…. */
export function createConsentRouter(deps: ConsentDeps): Router {
  const { publicUrl, logger } = deps;
  const people = createPeople(deps);
  const proving = { ...deps, people };
  const prove = createProve(proving);
  const findVisit = createFindVisit({ ...proving, prove });
  const connect = createConnectPages({
    findVisit,
    key: createConnectKey(deps),
    oauth: createConnectOAuth(deps),
    people,
    clock: deps.clock,
  });
  const callback = createCallbackPages(proving);
  const overview = createOverviewPages({ ...proving, prove });

  const show =
    <P>(page: (request: BrowserRequest, params: P) => Promise<Answer>): RequestHandler<P> =>
    async (request, response) => {
      const site = siteOf(publicUrl());
      send(response, site, await page(toBrowserRequest(request, site, deps.clients.of(request)), request.params));
    };
  const form = [refuseForeign(publicUrl), readForm];

  const router = Router({ caseSensitive: true });
  const places = ['/connect', '/connections', '/connect.css', '/oauth/callback'];
  router.use(places, fairPages(deps));
  router.get('/connect.css', (_request, response) => {
    response.set('Cache-Control', 'public, max-age=3600').type('css').send(STYLESHEET);
  });
  router.get('/connect', show(overview.showMissing));
  router.post('/connect', form, show(overview.connect));
  router.get('/connections', show(overview.showConnected));
  router.post('/connections', form, show(overview.disconnect));
  router.post('/connect/sign-out', form, show(overview.signOut));
  router.get(
    '/connect/callback/:tenant',
    show<{ tenant: string }>((request, { tenant }) => finishOidc(proving, request, tenant)),
  );
  router.get(
    '/connect/return',
    show((request) => finishHandoff(proving, request)),
  );
  router.post('/connect/handoff', readJson, handoffRoute(proving));
  router.get(
    '/connect/done/:id',
    show<{ id: string }>((request, { id }) => callback.tell(request, id)),
  );
  router.get(
    '/oauth/callback/:context',
    show<{ context: string }>((request, { context }) => callback.comeBack(request, context)),
  );
  router.get(
    '/connect/:ticket',
    show<{ ticket: string }>((request, { ticket }) => connect.open(request, ticket)),
  );
  router.post(
    '/connect/:ticket',
    ...form,
    show<{ ticket: string }>((request, { ticket }) => connect.submit(request, ticket)),
  );
  router.use(places, lastWord(publicUrl, logger));
  return router;
}
