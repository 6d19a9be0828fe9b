import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { Button } from './button.tsx';
import { focusAwaitedHeading } from './shortcuts.ts';
import { LoadError, Loading } from './status-messages.tsx';
import { useLoad } from './use-load.ts';

/** Some browsers remember that a script could not be loaded, until the page is reloaded. */
const HINT = 'Check the connection, and try again. If that fails, reload the page.';

/**
 * Returns a component whose code is loaded when it is first rendered, so that the console's first load stays small.
 *
 * @param title name for the page part, shown while its code is loaded
 * @param Fallback replaces the component if its code cannot be loaded; by default, an error offers to try again
 */
export function lazy<Props extends object>(
  title: string,
  load: () => Promise<ComponentType<Props>>,
  Fallback?: ComponentType<Props>,
): ComponentType<Props> {
  let loaded: ComponentType<Props> | undefined;
  function LoadAndRender(props: Props) {
    const { error, reload } = useLoad(async () => {
      try {
        loaded ??= await load();
      } catch (cause) {
        throw new Error(`The code of ${title} could not be loaded. ${HINT}`, { cause });
      }
      return loaded;
    }, []);
    useEffect(focusAwaitedHeading, [loaded]);
    if (loaded !== undefined) {
      const Component = loaded;
      return <Component {...props} />;
    }
    if (error !== undefined && Fallback !== undefined) return <Fallback {...props} />;
    if (error !== undefined)
      return (
        <LoadError error={error} onRetry={reload}>
          <Button text="Reload the page" onClick={() => location.reload()} />
        </LoadError>
      );
    return <Loading what={title} />;
  }
  return LoadAndRender;
}
