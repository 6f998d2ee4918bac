// SPDX-License-Identifier: Apache-2.0
/** A sidecar's whole program over a real driver socket, with an API server in memory and virtual time. */
import { type CsiServer, type Handlers, serveCsi } from '@csi-sidecars/csi/testing';
import type { KubeObject } from '@csi-sidecars/runtime';
import { settle } from '@csi-sidecars/runtime/testing';
import type { ProgramDeps } from '../src/process/run-controller-program.ts';
import { type FakeWorld, type FakeWorldOptions, fakeWorld } from './fake-world.ts';

export interface DrivenOptions extends FakeWorldOptions {
  readonly handlers: Handlers;
  /** The objects of the API server. */
  readonly seed?: readonly KubeObject[];
}

/** Disposing of it stops the program in order, and then the driver. */
export interface DrivenProgram extends AsyncDisposable {
  readonly world: FakeWorld;
  readonly driver: CsiServer;
  readonly code: Promise<number>;
  /** The calls to the driver, by their short names, in order. */
  readonly calls: () => readonly string[];
}

export async function runOverDriver(
  program: (deps: ProgramDeps) => Promise<number>,
  { handlers, seed = [], args = [], ...options }: DrivenOptions,
): Promise<DrivenProgram> {
  const calls: string[] = [];
  const driver = await serveCsi(recorded(handlers, calls));
  const world = fakeWorld({ ...options, args: [`--csi-address=${driver.path}`, ...args] });
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
