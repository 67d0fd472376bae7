// The streams over which a keyed server says that its list has changed: a legacy GET, a modern listen.
import type { ServerResponse } from 'node:http';
import type { Exchange } from './keyed-exchange.ts';
import type { KeyedState, Subscriber } from './keyed-state.ts';
import { type JsonObject, notificationText, objectAt, resultText } from './message.ts';
import { eventText, startEvents } from './responses.ts';
import { SUBSCRIPTION_KEY } from './revisions.ts';

const tag = (subscriber: Subscriber): JsonObject | undefined =>
  subscriber.subscription === undefined ? undefined : { _meta: { [SUBSCRIPTION_KEY]: subscriber.subscription } };

function subscribe(state: KeyedState, subscriber: Subscriber): void {
  state.subscribers.add(subscriber);
  state.count('openStreams');
  subscriber.res.once('close', () => {
    state.subscribers.delete(subscriber);
    state.count('openStreams', -1);
  });
}

export function openGetStream(state: KeyedState, res: ServerResponse): void {
  startEvents(res);
  res.write(': open\n\n');
  subscribe(state, { res, subscription: undefined });
}

/** 2026-07-28 §basic/patterns/subscriptions: the first message says what of the filter is honoured. */
export function openListenStream(exchange: Exchange): void {
  const { state, message, id, res } = exchange.asked;
  const wanted = objectAt(message.params, 'notifications');
  const isWanted = wanted['toolsListChanged'] === true && state.settings.listChanged;
  const notifications = isWanted ? { toolsListChanged: true } : {};
  exchange.notify('notifications/subscriptions/acknowledged', { notifications, _meta: { [SUBSCRIPTION_KEY]: id } });
  if (isWanted) subscribe(state, { res, subscription: id });
}

export function announceListChange(state: KeyedState): void {
  for (const subscriber of state.subscribers) {
    subscriber.res.write(eventText(notificationText('notifications/tools/list_changed', tag(subscriber))));
  }
}

/** Politely: a listen request gets its empty result, a GET stream just ends. */
export function endStreams(state: KeyedState): void {
  for (const subscriber of state.subscribers) {
    const { res, subscription } = subscriber;
    if (subscription === undefined) res.end();
    else res.end(eventText(resultText(subscription, JSON.stringify({ resultType: 'complete', ...tag(subscriber) }))));
  }
}
