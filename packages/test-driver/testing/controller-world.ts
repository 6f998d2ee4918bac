// SPDX-License-Identifier: Apache-2.0
/** Where a controller is tested whole, in virtual time: a fake API server that knows its rights, and the driver's model. */
import {
  type AccessRule,
  createFakeApiServer,
  type FakeApiServer,
  FakeClock,
  type FaultRule,
  seededRandom,
} from '@csi-sidecars/runtime/testing';
import { createDriverModel, type DriverModel, type Settings } from '../src/index.ts';

/** What a crash of the controller leaves as it is. */
export interface World {
  readonly clock: FakeClock;
  readonly server: FakeApiServer;
  readonly driver: DriverModel;
  /** Of the way to the API server; may grow while in use. */
  readonly faults: FaultRule[];
}

export interface WorldOptions {
  /** `csi:provisioner` */
  readonly serviceAccount: string;
  /** What it may do, and nothing more. */
  readonly rules: readonly AccessRule[];
  readonly driver: Partial<Settings>;
}

export function createWorld({ serviceAccount, rules, driver }: WorldOptions): World {
  const clock = new FakeClock();
  return {
    clock,
    server: createFakeApiServer({
      clock,
      random: seededRandom(1),
      authenticate: () => ({ user: `system:serviceaccount:${serviceAccount}`, rules }),
    }),
    driver: createDriverModel({ clock, settings: driver }),
    faults: [],
  };
}
