// SPDX-License-Identifier: Apache-2.0
/**
 * A Kubernetes API server in memory, behind the transport port.
 *
 * Guarantees: a request is one atomic step (it takes effect in the turn in which it is sent, or not at all); answers,
 * errors and watches are those of a real server of `discovery.version` for what the kinds of the table need; time and
 * identifiers come from the ports, so the same calls give the same bytes.
 *
 * Not here: controllers (nothing binds, attaches or collects garbage; see the sim package), encodings other than JSON,
 * garbage collection by owner references, aggregated discovery.
 */
import { answer, checkTarget, type Answer } from './answers.ts';
import { authorize, everybodyIsAdmin, isReview, unauthorized, type Authenticate, type Subject } from './access.ts';
import { badRequest, noSuchPath, Refusal, statusBody, unsupportedMediaType } from './status.ts';
import { builtInTypes } from './built-in.ts';
import { createJournal, type RequestRecord } from './journal.ts';
import { createObjectAccess, type ObjectAccess } from './object-access.ts';
import { collectionId, type ResourceType } from './resource-type.ts';
import { createStore, keyOf } from './store.ts';
import { describeOpenApi } from './openapi.ts';
import { discover } from './discovery.ts';
import { encodeJson } from './json.ts';
import { openWatch, type Watch } from './watch.ts';
import { answerReview } from './reviews.ts';
import { parseRoute, type Route } from './route.ts';
import { representationFor } from './representation.ts';
import { parseJson } from '../../src/api/json.ts';
import { TransportError } from '../../src/api/transport.ts';
import type { Admission, Target, WriteDeps } from './write-request.ts';
import type { Clock } from '../../src/clock/clock.ts';
import type { KubeObject } from '../../src/api/objects.ts';
import type { Resource } from '../../src/api/resource.ts';
import type { Random } from '../../src/clock/random.ts';
import type { Transport, TransportRequest, TransportResponse } from '../../src/api/transport.ts';

export interface FakeApiServerOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Beside the built-in kinds. */
  readonly types?: readonly ResourceType[];
  /** Default: every caller may do everything. */
  readonly authenticate?: Authenticate;
  /** Run in order on every create and update. Default none. */
  readonly admission?: readonly Admission[];
  /** `unsupported` answers sendInitialEvents with 422, as servers without the feature do. Default `supported`. */
  readonly watchList?: 'supported' | 'unsupported';
  /** Paths beyond the table (sub-resources with an own meaning); asked first, in order. Default none. */
  readonly extensions?: readonly Extension[];
  /** Changes remembered per collection for watches. Default 20,000. */
  readonly historyLimit?: number;
  /** Requests remembered. Default 100,000; the oldest go first. */
  readonly requestLimit?: number;
}

/** Answers a request, throws a Refusal, or returns undefined to leave the request to the next extension. */
export type Extension = (request: ExtensionRequest) => Answer | undefined;

export interface ExtensionRequest {
  readonly route: Route;
  readonly method: TransportRequest['method'];
  readonly body: unknown;
  readonly objects: ObjectAccess;
}

export interface FakeApiServer {
  readonly transport: Transport;
  /** Everything asked so far, in the order of the answers. */
  readonly requests: readonly RequestRecord[];
  /** The requests that write, whatever their answers were. */
  readonly writes: () => readonly RequestRecord[];
  readonly clearRequests: () => void;
  readonly objects: ObjectAccess;
  /** Short for `objects.seed`. */
  readonly seed: <T extends KubeObject>(object: T) => T;
  /** Serves more kinds from now on. A watch on them cannot begin before. */
  readonly addTypes: (...types: readonly ResourceType[]) => void;
  /** Serves a kind no more, in no version; its objects are gone and its watches end. */
  readonly removeTypes: (resource: Pick<Resource, 'group' | 'plural'>) => void;
  readonly types: () => readonly ResourceType[];
  /** Forgets the history: older resource versions answer 410 from now on. */
  readonly compact: () => void;
  /** Ends all open watches: cleanly as on a timeout, or by cutting the connection. */
  readonly endWatches: (how: 'clean' | 'broken') => void;
  readonly openWatches: () => number;
  /** Remembers the state. The returned function restores it, as from a backup of etcd, with a new resource version; watches break. */
  readonly backup: () => () => void;
  /** The resource version of the last change. */
  readonly revision: () => number;
}

export function createFakeApiServer(options: FakeApiServerOptions): FakeApiServer {
  const { clock, random } = options;
  const store = createStore(options.historyLimit === undefined ? {} : { historyLimit: options.historyLimit });
  const types: ResourceType[] = [...builtInTypes, ...(options.types ?? [])];
  const authenticate = options.authenticate ?? everybodyIsAdmin;
  const admission = options.admission ?? [];
  const deps: WriteDeps = {
    store,
    clock,
    random,
    mutate: (request) =>
      admission.reduce((object, { mutate }) => mutate?.({ ...request, object, objects }) ?? object, request.object),
    validate(request) {
      for (const { validate } of admission) validate?.({ ...request, objects });
    },
  };
  const objects = createObjectAccess(deps, types);
  const journal = createJournal(options.requestLimit ?? 100_000);
  const watches = new Map<Watch, ResourceType>();

  function targetOf(route: Route): Target {
    const type = types.find(
      ({ group, version, plural }) => group === route.group && version === route.version && plural === route.resource,
    );
    if (type === undefined) throw noSuchPath();
    const target = { type, route };
    checkTarget(target);
    return target;
  }

  function watch(target: Target, request: TransportRequest): TransportResponse {
    const as = representationFor(request.headers['accept']);
    const watchDeps = { store, clock, random, watchList: options.watchList ?? 'supported' };
    const { signal } = request;
    const opened = openWatch(watchDeps, { ...target, as, signal }, () => watches.delete(opened));
    watches.set(opened, target.type);
    return { status: 200, headers: { 'content-type': 'application/json' }, body: opened.body };
  }

  function wellKnown(method: string, path: string): TransportResponse {
    if (method !== 'GET') return nothingHere();
    if (/^\/(readyz|livez|healthz)(\/|$)/.test(path)) return textResponse(200, 'ok');
    const document = discover(path, types) ?? describeOpenApi(path, types);
    return document === undefined ? nothingHere() : jsonResponse({ code: 200, body: document });
  }

  function respond(route: Route, request: TransportRequest, body: unknown): TransportResponse {
    const { method, headers } = request;
    for (const extension of options.extensions ?? []) {
      const answered = extension({ route, method, body, objects });
      if (answered !== undefined) return jsonResponse(answered);
    }
    if (route.resource === '') return wellKnown(method, route.path);
    // Where no such group and version is served, the answer is not even a Status.
    if (!types.some((type) => type.group === route.group && type.version === route.version)) return nothingHere();
    const target = targetOf(route);
    return route.verb === 'watch' ? watch(target, request) : jsonResponse(answer(deps, { target, headers, body }));
  }

  const transport: Transport = async (request) => {
    if (request.signal.aborted) {
      throw new TransportError('aborted', 'the request was aborted', { cause: request.signal.reason });
    }
    const route = parseRoute(request.method, request.path);
    let subject: Subject | undefined;
    let body: unknown;
    let response: TransportResponse;
    try {
      subject = authenticate(callerOf(request));
      if (subject === undefined) throw unauthorized();
      authorize(subject, route);
      body = parseBody(request);
      const reviewed = answerReview(subject, route, body);
      response = reviewed === undefined ? respond(route, request, body) : jsonResponse(reviewed);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      response = refusal(error);
    }
    journal.record(route, request, { body, code: response.status, user: subject?.user ?? '' });
    return response;
  };

  return {
    transport,
    requests: journal.requests,
    writes: () => journal.requests.filter((each) => !['get', 'list', 'watch'].includes(each.verb) && !isReview(each)),
    clearRequests: journal.clear,
    objects,
    seed: objects.seed,
    addTypes(...added) {
      for (const type of added) store.collection(collectionId(type)).compact();
      types.push(...added);
    },
    removeTypes({ group, plural }) {
      const left = types.filter((type) => type.group !== group || type.plural !== plural);
      types.splice(0, types.length, ...left);
      const collection = store.collection(`${group}/${plural}`);
      for (const { metadata } of collection.list() ?? []) collection.remove(keyOf(metadata.namespace, metadata.name));
      for (const [open, watched] of watches)
        if (watched.group === group && watched.plural === plural) open.close('clean');
    },
    types: () => types,
    compact: store.compact,
    endWatches(how) {
      for (const open of watches.keys()) open.close(how);
    },
    revision: store.revision,
    backup() {
      const restore = store.backup();
      return () => {
        restore();
        for (const each of watches.keys()) each.close('broken');
      };
    },
    openWatches: () => watches.size,
  };
}

function nothingHere(): TransportResponse {
  return textResponse(404, '404 page not found\n');
}

function refusal({ facts }: Refusal): TransportResponse {
  const { retryAfterSeconds } = (facts.details ?? {}) as { readonly retryAfterSeconds?: number };
  const response = jsonResponse({ code: facts.code, body: statusBody(facts) });
  if (retryAfterSeconds === undefined) return response;
  return { ...response, headers: { ...response.headers, 'retry-after': String(retryAfterSeconds) } };
}

function callerOf(request: TransportRequest): { readonly userAgent: string; readonly token: string | undefined } {
  const { authorization = '', 'user-agent': userAgent = '' } = request.headers;
  return { userAgent, token: authorization.startsWith('Bearer ') ? authorization.slice('Bearer '.length) : undefined };
}

function parseBody(request: TransportRequest): unknown {
  if (request.body === undefined || request.body.length === 0) return undefined;
  const encoding = request.headers['content-type'] ?? '';
  if (encoding.startsWith('application/vnd.kubernetes.protobuf') || encoding.startsWith('application/cbor')) {
    throw unsupportedMediaType(['application/json']);
  }
  try {
    return parseJson(request.body);
  } catch {
    throw badRequest("couldn't decode the body: it is no JSON");
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function jsonResponse({ code, body }: Answer): TransportResponse {
  return response(code, 'application/json', encodeJson(body));
}

function textResponse(code: number, text: string): TransportResponse {
  return response(code, 'text/plain; charset=utf-8', Buffer.from(text));
}

function response(status: number, contentType: string, bytes: Uint8Array): TransportResponse {
  return {
    status,
    headers: { 'content-type': contentType, 'content-length': String(bytes.length) },
    body: once(bytes),
  };
}
