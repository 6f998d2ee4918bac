// SPDX-License-Identifier: Apache-2.0
/** What scenarios ask a recorded call. */
import type { CreateVolumeRequest, DeleteVolumeRequest, Method } from '@csi-sidecars/csi';
import type { RecordedCall } from '@csi-sidecars/test-driver';
import type { DriverInstance } from './driver.ts';

export interface CallOf<Request> extends RecordedCall {
  readonly request: Request & object;
}

/** Oldest first, those that still run included. */
export async function createCalls(driver: DriverInstance): Promise<readonly CallOf<CreateVolumeRequest>[]> {
  return (await callsOf(driver, '/csi.v1.Controller/CreateVolume')) as readonly CallOf<CreateVolumeRequest>[];
}

export async function deletedIds(driver: DriverInstance): Promise<readonly string[]> {
  const calls = await callsOf(driver, '/csi.v1.Controller/DeleteVolume');
  return (calls as readonly CallOf<DeleteVolumeRequest>[]).map(({ request }) => request.volume_id);
}

export function namesOf(calls: readonly CallOf<CreateVolumeRequest>[]): readonly string[] {
  return [...new Set(calls.map(({ request }) => request.name))];
}

export async function callsOf({ control }: DriverInstance, method: Method): Promise<readonly RecordedCall[]> {
  return (await control.calls()).filter((call) => call.method === method);
}
