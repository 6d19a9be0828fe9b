declare module '*.vue' {
  const component: import('vue').DefineComponent;
  export default component;
}
declare module '*.css' {}
declare module '*.png' {
  const url: string;
  export default url;
}
