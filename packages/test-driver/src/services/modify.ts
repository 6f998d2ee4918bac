// SPDX-License-Identifier: Apache-2.0
/** ControllerModifyVolume: parameters that may change after creation. */
import { exclusively } from '../core/driver.ts';
import type { StringMap } from '../core/records.ts';
import { refuse } from '../core/refusal.ts';
import type { Settings } from '../core/settings.ts';
import { requireVolume, volumeKey } from './lookup.ts';
import type { Handler } from './handler.ts';

export function checkMutable({ capabilities, mutableParameters }: Settings, parameters: StringMap): void {
  const keys = Object.keys(parameters);
  if (keys.length === 0) return;
  if (!capabilities.controller.includes('MODIFY_VOLUME')) {
    refuse('InvalidArgument', 'mutable_parameters without the capability MODIFY_VOLUME');
  }
  if (mutableParameters === 'any') return;
  const unknown = keys.filter((key) => !mutableParameters.includes(key));
  if (unknown.length > 0) refuse('InvalidArgument', `mutable parameters ${unknown.join(', ')} are not supported`);
}

export const controllerModifyVolume: Handler<'/csi.v1.Controller/ControllerModifyVolume'> = async (
  driver,
  request,
  call,
) => {
  if (request.volume_id === '') refuse('InvalidArgument', 'volume_id is missing');
  if (Object.keys(request.mutable_parameters).length === 0) {
    refuse('InvalidArgument', 'mutable_parameters are missing');
  }
  const claim = { exclusive: [volumeKey(request.volume_id)] };
  return await exclusively({ driver, call, claim }, async () => {
    const volume = requireVolume(driver, request.volume_id);
    checkMutable(driver.settings, request.mutable_parameters);
    const mutableParameters = { ...volume.mutableParameters, ...request.mutable_parameters };
    await driver.store.volumes.put({ ...volume, mutableParameters });
    return {};
  });
};
