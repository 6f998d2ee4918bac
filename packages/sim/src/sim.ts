// SPDX-License-Identifier: Apache-2.0
/**
 * A Kubernetes small enough for one process: the fake API server with the admission that volumes need, the core controllers,
 * a scheduler and emulated nodes. Everything waits on the clock port, so a whole cluster runs in virtual time.
 *
 * Guarantees: `stop` leaves no timer, watch or promise behind. A defect of a simulated controller rejects `ended`.
 */
import {
  createApiClient,
  createEventRecorder,
  createInformerFactory,
  noMetrics,
  silentLogger,
  type ApiClient,
  type Clock,
  type Logger,
  type Random,
  type Transport,
} from '@csi-sidecars/runtime';
import { createFakeApiServer, type FakeApiServer, type FakeApiServerOptions } from '@csi-sidecars/runtime/testing';
import { admission } from './admission/index.ts';
import { createAuthenticate } from './api/rbac.ts';
import { createCustomResources } from './api/custom-resources.ts';
import { createNamespaceController, namespaceFinalizer } from './namespaces/controller.ts';
import { createTokens } from './api/tokens.ts';
import { plainTypes } from './api/plain-types.ts';
import { createAttachDetach } from './attach-detach/controller.ts';
import { createClaimProtection, createVolumeProtection } from './protection/controller.ts';
import { createNodeEmulator, type NodeEmulator, type NodeOptions } from './node/emulator.ts';
import { createScheduler } from './scheduler/controller.ts';
import { createVolumeBinding } from './volume-binding/controller.ts';
import type { SimController, SimDeps } from './loop/loop.ts';

export interface SimOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Default: silent. */
  readonly logger?: Logger;
  readonly nodes?: readonly NodeOptions[];
  /** Labels in addition to those of the simulation. */
  readonly server?: Omit<FakeApiServerOptions, 'clock' | 'random'>;
  /** A layer between the server and the simulated controllers, for faults that affect them. Default: none. */
  readonly intercept?: (transport: Transport) => Transport;
}

export interface Sim extends AsyncDisposable {
  readonly server: FakeApiServer;
  /** A client with all permissions; its requests have the user agent `sim`. */
  readonly client: ApiClient;
  readonly nodes: ReadonlyMap<string, NodeEmulator>;
  readonly addNode: (options: NodeOptions) => NodeEmulator;
  /** Resolves after `stop`; rejects when a simulated controller has a defect. */
  readonly ended: Promise<void>;
  readonly stop: () => Promise<void>;
}

/** Namespaces that every cluster has. */
const initialNamespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];
const controllers: readonly ((deps: SimDeps) => SimController)[] = [
  createVolumeBinding,
  createVolumeProtection,
  createClaimProtection,
  createAttachDetach,
  createScheduler,
];

export function startSim(options: SimOptions): Sim {
  const { clock, random, logger = silentLogger, intercept = (transport) => transport } = options;
  const tokens = createTokens({ clock, random });
  const customResources = createCustomResources(clock);
  const given = options.server ?? {};
  const server: FakeApiServer = createFakeApiServer({
    authenticate: createAuthenticate(tokens, () => server.objects),
    ...given,
    clock,
    random,
    types: [...plainTypes, customResources.type, ...(given.types ?? [])],
    admission: [...admission, namespaceFinalizer, customResources.admission, ...(given.admission ?? [])],
    extensions: [tokens.extension, ...(given.extensions ?? [])],
  });
  customResources.serveOn(server);
  for (const name of initialNamespaces) {
    server.seed({ apiVersion: 'v1', kind: 'Namespace', metadata: { name }, status: { phase: 'Active' } });
  }
  const limits = { qps: -1, burst: 0 };
  const client = createApiClient({ transport: server.transport, clock, logger }, { ...limits, userAgent: 'sim' });
  const transport = intercept(server.transport);
  const own = createApiClient({ transport, clock, logger }, { ...limits, userAgent: 'kube-controller-manager' });
  // With metrics of its own, because what is measured lives as long as they do.
  const metrics = { ...noMetrics };
  const informers = createInformerFactory({ client: own, clock, random, logger, metrics });
  // Events are written past the faults of `intercept`, so that stopping never waits for one.
  const recorder = createEventRecorder({ client, clock, random, logger }, { component: 'sim' });
  const deps: SimDeps = { client: own, informers, clock, random, logger, recorder };

  const life = new AbortController();
  const running: Promise<void>[] = [];
  const nodes = new Map<string, NodeEmulator>();
  const end = Promise.withResolvers<void>();
  // Callers that ignore it receive the error from `stop()`.
  end.promise.catch(() => undefined);
  const run = (controller: SimController): void => {
    const work = Promise.all([controller.run(life.signal), informers.start(life.signal)]);
    const outcome = work.then(
      () => undefined,
      (error: unknown) => {
        if (!life.signal.aborted) end.reject(error);
      },
    );
    running.push(outcome);
  };
  function addNode(node: NodeOptions): NodeEmulator {
    const emulator = createNodeEmulator(deps, node);
    nodes.set(node.name, emulator);
    run(emulator);
    return emulator;
  }

  for (const create of controllers) run(create(deps));
  run(createNamespaceController(deps, server.types));
  for (const node of options.nodes ?? []) addNode(node);

  async function stop(): Promise<void> {
    life.abort(new Error('the simulation stops'));
    await informers.shutdown();
    await Promise.all(running);
    await recorder.flush();
    end.resolve();
    await end.promise;
  }
  return { server, client, nodes, addNode, ended: end.promise, stop, [Symbol.asyncDispose]: stop };
}
