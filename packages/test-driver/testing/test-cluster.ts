// SPDX-License-Identifier: Apache-2.0
/** The environment in which a whole controller is tested in virtual time: a fake API server that checks permissions, and the driver's model. */
import {
  type AccessRule,
  createFakeApiServer,
  type FakeApiServer,
  FakeClock,
  type FaultRule,
  seededRandom,
} from '@csi-sidecars/runtime/testing';
import { createDriverModel, type DriverModel, type Settings } from '../src/index.ts';

/** Everything that a crash of the controller does not affect. */
export interface TestCluster {
  readonly clock: FakeClock;
  readonly server: FakeApiServer;
  readonly driver: DriverModel;
  /** Faults on the connection to the API server; rules may be added while in use. */
  readonly faults: FaultRule[];
}

export interface TestClusterOptions {
  /** `csi:provisioner` */
  readonly serviceAccount: string;
  /** Its permissions. */
  readonly rules: readonly AccessRule[];
  readonly driver: Partial<Settings>;
}

export function createTestCluster({ serviceAccount, rules, driver }: TestClusterOptions): TestCluster {
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
