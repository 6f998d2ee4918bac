// SPDX-License-Identifier: Apache-2.0
/** A sidecar's whole program over a real driver socket, with an API server in memory and virtual time. */
import { type CsiServer, type Handlers, serveCsi } from '@csi-sidecars/csi/testing';
import type { KubeObject } from '@csi-sidecars/runtime';
import { type ResourceType, settle } from '@csi-sidecars/runtime/testing';
import type { ProgramDeps } from '../src/process/run-controller-program.ts';
import { type FakeWorld, type FakeWorldOptions, fakeWorld } from './fake-world.ts';

export interface DrivenOptions extends FakeWorldOptions {
  readonly handlers: Handlers;
  /** Kinds that the API server serves beside the built-in ones. */
  readonly types?: readonly ResourceType[];
  /** What the API server has. */
  readonly seed?: readonly KubeObject[];
}

/** Disposed of, it is stopped in order, and the driver after it. */
export interface DrivenProgram extends AsyncDisposable {
  readonly world: FakeWorld;
  readonly driver: CsiServer;
  readonly code: Promise<number>;
  /** What the driver was asked, by short names, in order. */
  readonly calls: () => readonly string[];
}

export async function runOverDriver(
  program: (deps: ProgramDeps) => Promise<number>,
  { handlers, types = [], seed = [], args = [], ...options }: DrivenOptions,
): Promise<DrivenProgram> {
  const calls: string[] = [];
  const driver = await serveCsi(recorded(handlers, calls));
  const world = fakeWorld({ ...options, args: [`--csi-address=${driver.path}`, ...args] });
  world.server.addTypes(...types);
  for (const object of seed) world.server.seed(object);
  const code = program({ world, lifecycle: world.lifecycle });
  return {
    world,
    driver,
    code,
    calls: () => calls,
    [Symbol.asyncDispose]: async () => {
      world.stop();
      await Promise.race([code.catch(() => 0), settle()]);
      await driver[Symbol.asyncDispose]();
    },
  };
}

type UntypedHandler = (request: unknown, call: unknown) => unknown;

function recorded(handlers: Handlers, calls: string[]): Handlers {
  const entries = Object.entries(handlers) as unknown as readonly [string, UntypedHandler][];
  const all = entries.map(([method, handler]): readonly [string, UntypedHandler] => [
    method,
    (request, call) => {
      calls.push(method.split('/').at(-1) ?? '');
      return handler(request, call);
    },
  ]);
  return Object.fromEntries(all);
}
