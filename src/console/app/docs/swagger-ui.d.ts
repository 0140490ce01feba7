/** As much of Swagger UI as the page uses; the package has no types. */

declare module "*.css" {}

declare module "swagger-ui-dist/swagger-ui-es-bundle.js" {
  /** A map or list of Immutable.js. */
  export interface Immutable {
    get(key: string): unknown;
    filter(keep: (value: Immutable) => boolean): Immutable;
    map(change: (value: Immutable) => Immutable): Immutable;
    set(key: string, value: unknown): Immutable;
    readonly size: number;
    toJS(): unknown;
  }

  export interface OperationProps {
    readonly path: string;
    readonly method: string;
    readonly operation: Immutable;
  }

  type Element = object;
  export type Component<Props> = (props: Props) => Element | null;

  export interface System {
    readonly React: {
      readonly Fragment: Component<object>;
      createElement<Props>(type: Component<Props> | string, props: Props | null, ...children: unknown[]): Element;
    };
    readonly Im: { fromJS(value: unknown): Immutable };
    readonly fn: { buildRequest(request: object): { readonly url: string } };
    readonly specSelectors: {
      specJsonWithResolvedSubtrees(): Immutable;
      parameterValues(pathMethod: readonly [string, string]): Immutable;
      securityDefinitions(): Immutable | null;
      security(): Immutable | null;
    };
    readonly oas3Selectors: {
      requestBodyValue(path: string, method: string): unknown;
      requestContentType(path: string, method: string): string | undefined;
      responseContentType(path: string, method: string): string | undefined;
    };
    readonly authSelectors: { authorized(): Immutable | null };
    getComponent<Props>(name: string, isContainer?: boolean): Component<Props>;
  }

  export interface Plugin {
    readonly fn?: Readonly<Record<string, unknown>>;
    readonly components?: Readonly<Record<string, unknown>>;
    readonly wrapComponents?: Readonly<
      Record<string, (Original: Component<OperationProps>, system: System) => Component<OperationProps>>
    >;
  }

  interface Options {
    readonly url: string;
    readonly domNode: Element;
    readonly plugins: readonly ((system: System) => Plugin)[];
    readonly onComplete: () => void;
    readonly [option: string]: unknown;
  }

  export default function SwaggerUI(options: Options): { preauthorizeApiKey(scheme: string, key: string): void };
}
