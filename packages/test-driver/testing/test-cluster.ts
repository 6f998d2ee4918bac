// SPDX-License-Identifier: Apache-2.0
/** The environment in which a whole controller is tested in virtual time: a fake API server that checks permissions, and the driver's model. */
import {
  type AccessRule,
  createFakeApiServer,
  type FakeApiServer,
  type Fault,
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

/** Three volumes that exist before the controller starts: `volume-1` to `volume-3`. These calls are not in the record. */
export async function prepareVolumes({ driver }: Pick<TestCluster, 'driver'>, bytes?: bigint): Promise<void> {
  const capability = { mount: {}, access_mode: { mode: 'MULTI_NODE_MULTI_WRITER' as const } };
  for (const name of ['a', 'b', 'c']) {
    const request = {
      name,
      volume_capabilities: [capability],
      ...(bytes === undefined ? {} : { capacity_range: { required_bytes: bytes.toString() } }),
    };
    await driver.channel().call('/csi.v1.Controller/CreateVolume', request, { timeoutMs: 1_000 });
  }
  driver.forgetCalls();
}

/** The fault meets the next so many requests of this kind, for example `patch volumeattachments/status`. */
export function faultOn(what: string, fault: Fault, times = 1): FaultRule {
  return { when: (target) => kindOf(target) === what, fault, times };
}

/** `patch volumeattachments/status` */
export const kindOf = ({ verb, resource, subresource }: Parameters<FaultRule['when']>[0]): string =>
  `${verb} ${subresource === undefined ? resource : `${resource}/${subresource}`}`;
