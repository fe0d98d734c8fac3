import type { Test } from 'tap';
import { decoded, encoded, type Frame, Refused, Session } from './session.js';

/** Two brokers of one cluster, or twice the same: what one of them takes, the other one has. */
export interface Brokers {
  /** Part of the names of its topics: several runs in one cluster do not meet. */
  run: string;
  /** `host:port` */
  first: string;
  second: string;
}

/** The status that an upgrade is refused with. */
async function statusOf(opening: Promise<Session>): Promise<number> {
  try {
    await (await opening).close();
    return 101;
  } catch (error) {
    if (error instanceof Refused) return error.status;
    throw error;
  }
}

interface Answer {
  status: number;
  body: unknown;
}

/** What a stranger's client sees of a broker: WebSocket and REST, nothing else. Each case has a topic of its own. */
export async function brokerConformance(t: Test, { run, first, second }: Brokers): Promise<void> {
  let topics = 0;
  const newTopic = (): string => `persistent/public/default/${run}-${++topics}`;
  const producer = (topic: string, at = first): Promise<Session> => Session.open(`ws://${at}/ws/v2/producer/${topic}`);
  const consumer = (topic: string, subscription: string, query = '', at = second): Promise<Session> =>
    Session.open(`ws://${at}/ws/v2/consumer/${topic}/${subscription}${query}`);
  const reader = (topic: string, messageId: string, at = second): Promise<Session> =>
    Session.open(`ws://${at}/ws/v2/reader/${topic}?messageId=${encodeURIComponent(messageId)}`);
  const rest = async (method: string, path: string, body?: unknown, at = second): Promise<Answer> => {
    const init = body === undefined ? { method } : { method, body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
    const response = await fetch(`http://${at}${path}`, init);
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  };
  const publish = async (session: Session, texts: readonly string[]): Promise<Frame[]> => {
    for (const text of texts) session.send({ payload: encoded(text), context: text });
    return await session.take(texts.length);
  };
  const texts = (count: number, name = 'm'): string[] => Array.from({ length: count }, (_none, index) => `${name}-${index}`);

  await t.test('produce and consume: payload, key, properties and event time arrive as they were sent', async (t) => {
    const topic = newTopic();
    const receiving = await consumer(topic, 's');
    const sending = await producer(topic);
    const eventTime = '2026-01-02T03:04:05.678Z';
    sending.send({ payload: encoded('grüße 🌍'), key: 'k', properties: { a: '1', b: '' }, eventTime, context: 'c-1' });
    const answer = await sending.next();
    t.match(answer, { result: 'ok', context: 'c-1', errorCode: 0, schemaVersion: 0, messageId: /^[A-Za-z0-9+/]+=*$/ });
    const frame = await receiving.next();
    t.equal(decoded(frame), 'grüße 🌍');
    t.match(frame, {
      messageId: answer.messageId,
      key: 'k',
      properties: { a: '1', b: '' },
      eventTime,
      redeliveryCount: 0,
      publishTime: /^20\d\d-.*Z$/,
    });
    for (const session of [receiving, sending]) await session.close();
  });

  await t.test('order: 2,000 messages -> answered and received in the order of sending', async (t) => {
    const topic = newTopic();
    const receiving = await consumer(topic, 's');
    const sending = await producer(topic);
    const all = texts(2_000);
    const answers = publish(sending, all);
    const received: Frame[] = [];
    for (const _text of all) {
      const frame = await receiving.next();
      received.push(frame);
      receiving.send({ messageId: String(frame.messageId) });
    }
    t.same(
      (await answers).map(({ context }) => context),
      all,
    );
    t.same(received.map(decoded), all);
    for (const session of [receiving, sending]) await session.close();
  });

  await t.test('acknowledged and not: a new session gets exactly what was not acknowledged', async (t) => {
    const topic = newTopic();
    const before = await consumer(topic, 's');
    const sending = await producer(topic);
    await publish(sending, texts(6));
    const frames = await before.take(6);
    for (const index of [0, 1, 3]) before.send({ messageId: String(frames[index]?.messageId) });
    await before.during(300);
    await before.close();
    const after = await consumer(topic, 's');
    t.same((await after.take(3)).map(decoded), ['m-2', 'm-4', 'm-5']);
    t.same(await after.during(300), []);
    for (const session of [after, sending]) await session.close();
  });

  await t.test('negative acknowledgement: comes again after its delay, counted', async (t) => {
    const topic = newTopic();
    const receiving = await consumer(topic, 's', '?subscriptionType=Shared&negativeAckRedeliveryDelay=500');
    const sending = await producer(topic);
    await publish(sending, ['again']);
    const frame = await receiving.next();
    const askedMs = performance.now();
    receiving.send({ type: 'negativeAcknowledge', messageId: String(frame.messageId) });
    const second = await receiving.next();
    t.ok(performance.now() - askedMs >= 500, 'not early');
    t.match(second, { messageId: frame.messageId, redeliveryCount: 1 });
    for (const session of [receiving, sending]) await session.close();
  });

  await t.test('Exclusive: a second consumer is refused with 409; Shared: two of them share', async (t) => {
    const topic = newTopic();
    const only = await consumer(topic, 'exclusive');
    t.equal(await statusOf(consumer(topic, 'exclusive', '', first)), 409);
    const [one, other] = [
      await consumer(topic, 'shared', '?subscriptionType=Shared', first),
      await consumer(topic, 'shared', '?subscriptionType=Shared'),
    ];
    const sending = await producer(topic);
    await publish(sending, texts(20));
    const shares = [await one.during(1_000), await other.during(0)];
    t.same([...shares.flat().map(decoded)].sort(), [...texts(20)].sort(), 'each message once');
    t.ok(
      shares.every((share) => share.length > 0),
      'both got some',
    );
    for (const session of [only, one, other, sending]) await session.close();
  });

  await t.test('pull mode: no message without a permit', async (t) => {
    const topic = newTopic();
    const receiving = await consumer(topic, 's', '?pullMode=true');
    const sending = await producer(topic);
    await publish(sending, texts(5));
    t.same(await receiving.during(300), []);
    receiving.send({ type: 'permit', permitMessages: 2 });
    t.same((await receiving.take(2)).map(decoded), ['m-0', 'm-1']);
    t.same(await receiving.during(300), []);
    for (const session of [receiving, sending]) await session.close();
  });

  await t.test('reader: from the beginning, and after a message', async (t) => {
    const topic = newTopic();
    const sending = await producer(topic);
    const answers = await publish(sending, texts(5));
    for (const [from, expected] of [
      ['earliest', texts(5)],
      [String(answers[2]?.messageId), ['m-3', 'm-4']],
    ] as const) {
      const reading = await reader(topic, from);
      const frames = await reading.take(expected.length);
      t.same(frames.map(decoded), expected);
      await reading.close();
    }
    await sending.close();
  });

  await t.test('wrong frames: each is answered with its error, the socket and its neighbours live on', async (t) => {
    const topic = newTopic();
    const sending = await producer(topic);
    const neighbour = await producer(topic, second);
    const wrong = [
      ['{not json', 'send-error:3'],
      ['[]', 'send-error:3'],
      [JSON.stringify({ payload: 'no base64 !' }), 'send-error:7'],
      [JSON.stringify({ context: 'no payload' }), 'send-error:7'],
      [JSON.stringify({ payload: '', eventTime: 'yesterday' }), 'send-error:7'],
      [JSON.stringify({ payload: Buffer.alloc(5 * 1024 * 1024 + 1).toString('base64') }), 'send-error:8'],
    ] as const;
    for (const [frame, result] of wrong) {
      sending.send(frame);
      t.match(await sending.next(), { result, errorMsg: String }, frame.slice(0, 40));
    }
    t.match((await publish(sending, ['fine']))[0], { result: 'ok' });
    t.match((await publish(neighbour, ['fine']))[0], { result: 'ok' });
    for (const session of [sending, neighbour]) await session.close();
  });

  await t.test('wrong handshakes: refused with the status that says why', async (t) => {
    const topic = newTopic();
    t.equal(await statusOf(consumer(topic, 's', '?subscriptionType=Sometimes')), 400);
    t.equal(await statusOf(consumer(topic, 's', '?receiverQueueSize=-1')), 400);
    t.equal(await statusOf(reader(topic, 'nonsense')), 400);
    t.equal(await statusOf(producer('persistent/public/no-such-namespace/t')), 404);
    t.equal(await statusOf(producer('unknown/public/default/t')), 400);
  });

  await t.test('REST: namespaces and topics are made, listed, refused twice and removed', async (t) => {
    t.ok(((await rest('GET', '/admin/v2/clusters')).body as string[]).includes('standalone'));
    t.ok(((await rest('GET', '/admin/v2/tenants')).body as string[]).includes('public'));
    const namespace = `public/${run}`;
    t.equal((await rest('PUT', `/admin/v2/namespaces/${namespace}`)).status, 204);
    t.match(await rest('PUT', `/admin/v2/namespaces/${namespace}`), { status: 409, body: { reason: String } });
    t.ok(((await rest('GET', '/admin/v2/namespaces/public', undefined, first)).body as string[]).includes(namespace));
    const topic = `/admin/v2/persistent/${namespace}/t`;
    t.equal((await rest('PUT', topic)).status, 204);
    t.match(await rest('PUT', topic), { status: 409, body: { reason: String } });
    t.same((await rest('GET', `/admin/v2/persistent/${namespace}`, undefined, first)).body, [`persistent://${namespace}/t`]);
    t.match(await rest('DELETE', `/admin/v2/namespaces/${namespace}`), { status: 409, body: { reason: String } }, 'not while it has topics');
    t.equal((await rest('DELETE', topic)).status, 204);
    t.match(await rest('GET', `${topic}/stats`), { status: 404, body: { reason: String } });
    t.equal((await rest('DELETE', `/admin/v2/namespaces/${namespace}`)).status, 204);
    t.equal((await rest('GET', '/admin/v2/persistent/public/default/%zz/stats')).status, 400);
  });

  await t.test('REST: subscriptions hold a backlog that stats tell; a used topic is not deleted', async (t) => {
    const topic = newTopic();
    const path = `/admin/v2/${topic}`;
    t.equal((await rest('PUT', `${path}/subscription/s`, 'earliest')).status, 204);
    t.same((await rest('GET', `${path}/subscriptions`, undefined, first)).body, ['s']);
    const sending = await producer(topic);
    await publish(sending, texts(7));
    const stats = async (): Promise<unknown> => (await rest('GET', `${path}/stats`)).body;
    t.match(await stats(), { msgInCounter: 7, publishers: [{}], subscriptions: { s: { msgBacklog: 7, type: String } } });
    t.match(await rest('DELETE', path), { status: 412, body: { reason: String } });
    const receiving = await consumer(topic, 's');
    for (const { messageId } of await receiving.take(7)) receiving.send({ messageId: String(messageId) });
    await receiving.during(300);
    t.match(await stats(), { subscriptions: { s: { msgBacklog: 0, consumers: [{}] } } });
    t.match(await rest('DELETE', `${path}/subscription/s`), { status: 412, body: { reason: String } });
    receiving.send({ type: 'unsubscribe' });
    await receiving.closed;
    t.same((await rest('GET', `${path}/subscriptions`)).body, []);
    const internal = (await rest('GET', `${path}/internalStats`)).body as { ledgers: unknown[]; state: string };
    t.ok(internal.ledgers.length > 0);
    await sending.close();
  });

  await t.test('REST: brokers answer for each other', async (t) => {
    const brokers = (await rest('GET', '/admin/v2/brokers', undefined, first)).body as string[];
    t.same(new Set(brokers), new Set([first, second]));
    t.equal(await (await fetch(`http://${second}/admin/v2/brokers/health`)).text(), 'ok');
    const topic = newTopic();
    const sending = await producer(topic);
    await publish(sending, ['x']);
    const owners = await Promise.all(
      [first, second].map(async (at) => (await rest('GET', `/lookup/v2/topic/${topic}`, undefined, at)).body as { httpUrl: string }),
    );
    t.equal(owners[0]?.httpUrl, owners[1]?.httpUrl, 'both name the same owner');
    t.equal((await rest('PUT', `/admin/v2/${topic}/unload`)).status, 204);
    t.match((await publish(sending, ['after the unload']))[0], { result: 'ok' });
    await sending.close();
  });
}
