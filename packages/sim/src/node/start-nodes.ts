// SPDX-License-Identifier: Apache-2.0
/** Emulated nodes on any control plane, through nothing but an API client. */
import {
  createEventRecorder,
  createInformerFactory,
  type ApiClient,
  type Clock,
  type Logger,
  type Random,
} from '@csi-sidecars/runtime';
import { createNodeEmulator, type NodeEmulator, type NodeOptions } from './emulator.ts';

export interface StartNodesDeps {
  /** The client needs the permissions of a kubelet on these nodes; those of an administrator suffice. */
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface RunningNodes extends AsyncDisposable {
  readonly nodes: ReadonlyMap<string, NodeEmulator>;
  /** Resolves after the end; rejects if an emulator has a defect or could not create its Node. */
  readonly ended: Promise<void>;
}

/** Disposing stops the nodes and waits for them; their objects stay, like those of a node that is switched off. */
export function startNodes(deps: StartNodesDeps, options: readonly NodeOptions[]): RunningNodes {
  const informers = createInformerFactory(deps);
  const recorder = createEventRecorder(deps, { component: 'kubelet' });
  const life = new AbortController();
  const nodes = new Map(options.map((each) => [each.name, createNodeEmulator({ ...deps, informers, recorder }, each)]));
  const runs = [...nodes.values()].map((node) => node.run(life.signal));
  const ended = Promise.all([...runs, informers.start(life.signal)]).then(
    () => undefined,
    (error: unknown) => {
      if (!life.signal.aborted) throw error;
    },
  );
  // Callers that ignore it receive the error when disposing.
  ended.catch(() => undefined);
  return {
    nodes,
    ended,
    async [Symbol.asyncDispose]() {
      life.abort(new Error('the nodes stop'));
      await informers.shutdown();
      await ended;
      await recorder.flush();
    },
  };
}
