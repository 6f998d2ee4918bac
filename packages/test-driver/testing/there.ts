// SPDX-License-Identifier: Apache-2.0
/**
 * An object that has to be there. What an object must not have is missing as well when the object is gone, and a test that looks no further
 * passes for the wrong reason.
 */
export function there<T>(object: T | undefined): T {
  if (object === undefined) throw new Error('what has to be there is gone');
  return object;
}
